/** Exit codes of an agent's process, by which the mesh can say why it ended; 74 is `EX_IOERR` of sysexits.h. */
export const agentExitCodes = {
  /** The agent could not write its own state for a reason other than a full disk. */
  cannotWrite: 74,
} as const
