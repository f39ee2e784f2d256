/**
 * The exit code of a mesh that cannot start before its owner changes something (`EX_CONFIG` of sysexits.h).
 * Supervisors do not restart a mesh that exited with it.
 */
export const ownerMustActExitCode = 78
