import type { JsonObject } from '@flotilla/protocol/json-value'

/** The members of an answer that do not depend on its content. */
export interface ContentsHead {
  readonly id: string
  readonly model: string
}

/** The end of an answer. */
interface ContentsEnd {
  readonly reason: string
  readonly usage: JsonObject
}

/**
 * Returns an answer, or one piece of a stream. Only the last has a usage, and begins with it, by which
 * `contents-stream.ts` finds the last piece. Each has a part: official clients keep no turn with a piece without one.
 * Pure.
 */
export function contentsAnswer(
  { id, model }: ContentsHead,
  parts: readonly JsonObject[],
  end: ContentsEnd | null = null,
): JsonObject {
  const content = { role: 'model', parts: parts.length === 0 ? [{ text: '' }] : [...parts] }
  return {
    ...(end === null ? {} : { usageMetadata: end.usage }),
    candidates: [{ content, ...(end === null ? {} : { finishReason: end.reason }), index: 0 }],
    modelVersion: model,
    responseId: id,
  }
}

/** Prints one piece of a stream. Pure. */
export function printedPiece(answer: JsonObject): string {
  return `data: ${JSON.stringify(answer)}\n\n`
}

/** How the last piece of a stream begins. */
export const lastPieceStart = 'data: {"usageMetadata"'
