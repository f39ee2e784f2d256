import type { RunOutcome } from '@flotilla/protocol/run'

/** Deepest nesting of an outcome that is searched. */
const depthMax = 6

/**
 * What an attempt's program reported, wherever the outcome of its tool run contains the output; null without
 * a report. With an id, the report of that attempt among others in the same output. Pure.
 */
export function attemptResult(outcome: RunOutcome | null, id?: string): unknown {
  const marker = new RegExp(`^${id === undefined ? '' : `${id} `}RESULT (\\{.*\\})$`, 'm')
  for (const text of textsIn(outcome, 0)) {
    const json = marker.exec(text)?.[1]
    if (json === undefined) continue
    try {
      return JSON.parse(json)
    } catch {
      // A truncated report is ignored.
    }
  }
  return null
}

function textsIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > depthMax) return []
  return Object.values(value).flatMap((part) => textsIn(part, depth + 1))
}
