import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'

/**
 * PORT. Takes facts that a conversation yielded, to be found when it is forgotten. With `runOk` false it keeps none:
 * words of a run in which nothing worked are no facts. Answers how many are kept; may reject, and then none are.
 */
export interface FactKeeper {
  saveFacts(
    facts: readonly PromptText[],
    run: { readonly runId: string; readonly runOk: boolean },
  ): Promise<{ readonly saved: number }>
}
