"""Judge submissions, in local processes or on a cluster; store results and the audit log; regrade."""
