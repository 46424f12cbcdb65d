/* pause() resolves once the messages that wait have been handled; a timer would cost a worker milliseconds. */

export const pause = () => new Promise((go) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => (port1.close(), go());
  port2.postMessage(0);
});
