/** How an agent's process ends by itself, so that the mesh can say why; 74 is what systems call an error of input or output. */
export const agentExitCodes = {
  /** It could not write its own state, for another reason than a full disk. */
  cannotWrite: 74,
} as const
