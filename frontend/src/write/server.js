/* The Jupyter server that serves the page: asks it for kernels, and for the notebooks of the working copy. */
import { ServerConnection } from "@jupyterlab/services/lib/serverconnection.js";

export function server(base) {
  const settings = ServerConnection.makeSettings({ baseUrl: base, wsUrl: base.replace(/^http/, "ws"), token: "", appendToken: false });
  return {
    settings,
    async ask(path, method = "GET", body = undefined, keepalive = false) {
      const answer = await ServerConnection.makeRequest(base + path, { method, body: body && JSON.stringify(body), keepalive }, settings);
      if (!answer.ok) {
        const said = await answer.json().then(({ message }) => message, () => "");
        throw new Error(`The server answers ${answer.status} to ${method} ${path}${said ? `: ${String(said).slice(0, 200)}` : "."}`);
      }
      return answer.status === 204 ? null : answer.json();
    },
  };
}
