/** Tracks whether a streamed answer is complete. Create one per answer. */
export interface AnswerEnding {
  /** Takes one piece: whether it has content, and whether it names a reason for the end. */
  take(piece: { readonly hasContent: boolean; readonly hasReason: boolean }): void
  /**
   * True if one reason came behind the content and no content followed it. A failure behind a complete answer revokes
   * nothing: another attempt would be paid for once more.
   */
  isComplete(): boolean
  /** Whether any piece had content. */
  hasSaid(): boolean
}

/**
 * A reason that comes with the first content proves nothing, because some servers name a reason in every piece;
 * neither does a reason that content follows.
 */
export function createAnswerEnding(): AnswerEnding {
  let ended: 'no' | 'once' | 'unsure' = 'no'
  let hadContent = false
  return {
    take({ hasContent, hasReason }) {
      if (ended === 'once' && hasContent) ended = 'unsure'
      if (ended === 'no' && hasReason) ended = hadContent ? 'once' : 'unsure'
      hadContent ||= hasContent
    },
    isComplete: () => ended === 'once',
    hasSaid: () => hadContent,
  }
}
