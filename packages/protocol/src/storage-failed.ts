/**
 * The exit code of a mesh whose start failed because of the storage of the machine (`EX_IOERR` of sysexits.h).
 * Supervisors try again soon, because the storage may recover at any time.
 */
export const storageFailedExitCode = 74
