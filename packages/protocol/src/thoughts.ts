import type { Thought } from './normal-answer.ts'

/** Limits of one answer's stored thinking; a longer one is not stored, since providers reject incomplete thinking. */
const thoughtsMaxChars = 256 * 1024
/** The maximum number of parts of stored thinking in one answer. */
const thoughtsMax = 512

/** Joins the pieces of each block; returns none of them if they are too long to be stored. Pure. */
export function joinThoughts(pieces: readonly Thought[]): readonly Thought[] {
  const joined: Thought[] = []
  for (const piece of pieces) {
    const last = joined.at(-1)
    if (last !== undefined && follows(last, piece)) joined[joined.length - 1] = join(last, piece)
    else joined.push(piece)
  }
  const chars = joined.reduce((sum, thought) => sum + charsOfThought(thought), 0)
  return joined.length > thoughtsMax || chars > thoughtsMaxChars ? [] : joined
}

/** The number of characters of the thought that are sent to the model. Pure. */
export function charsOfThought(thought: Thought): number {
  return Object.values(thought).reduce<number>((sum, value) => sum + String(value).length, 0)
}

const together = ['format', 'field', 'from', 'index'] as const

function follows(last: Thought, next: Thought): boolean {
  const isText = last['type'] === next['type'] && next['type'] !== 'reasoning.encrypted'
  return isText && last['signature'] === undefined && together.every((name) => last[name] === next[name])
}

function join(last: Thought, next: Thought): Thought {
  const joined: Record<string, string | number> = { ...last, ...next }
  for (const name of ['text', 'summary']) {
    if (last[name] === undefined && next[name] === undefined) continue
    joined[name] = `${last[name] ?? ''}${next[name] ?? ''}`
  }
  return joined
}
