/**
 * The texts with which parts of a system prompt begin. The agent writes them, and the mesh recognizes them to report
 * which part changed and invalidated a provider's prompt cache.
 */
export const promptParts = {
  learnings: 'Learnings: your own notes on earlier failures and corrections.',
  tools: 'More tools of yours.',
} as const
