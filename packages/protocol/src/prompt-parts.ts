/**
 * The texts with which parts of a system prompt begin. The agent writes them, and the mesh recognizes them to report
 * which part changed and invalidated a provider's prompt cache, and where the part ends that all runs share.
 */
export const promptParts = {
  /** The rules of this kind of run. What is before them is the same in runs of other kinds. */
  kind: 'This run is ',
  learnings: 'Learnings: your own notes on earlier failures and corrections.',
  tools: 'More tools of yours.',
} as const
