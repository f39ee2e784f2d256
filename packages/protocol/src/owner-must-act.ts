/**
 * The exit code of a mesh that its owner must change something for before it can start, as sysexits.h numbers a
 * configuration error. No supervisor starts a mesh again that ended with it.
 */
export const ownerMustActExitCode = 78
