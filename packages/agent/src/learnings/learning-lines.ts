import { oneLine } from '../prompt/one-line.ts'

const errorMaxChars = 300
const inputMaxChars = 200
const quotedMaxChars = 200
const correctionMaxChars = 500
const stampPattern = /^- \[[^\]]*\] /

/** Pure. One line for the file: when, which tool, what it returned, and its arguments. */
export function failureLine(
  failure: { readonly tool: string; readonly input: unknown; readonly output: string },
  when: string,
): string {
  const input = oneLine(JSON.stringify(failure.input) ?? '', inputMaxChars)
  return `- [${when}] **${oneLine(failure.tool, 80)}**: ${oneLine(failure.output, errorMaxChars)} (called with ${input})`
}

/** Pure. One line for the file: when, what was said, and what the owner answered. */
export function correctionLine(
  exchange: { readonly said: string; readonly answer: string },
  when: string,
): string {
  return `- [${when}] I said: "${oneLine(exchange.said, quotedMaxChars)}" Correction: "${oneLine(exchange.answer, correctionMaxChars)}"`
}

/** Pure. One line for the file: when, by whom, on which task, and the text. */
export function feedbackLine(
  feedback: {
    readonly taskId: string
    readonly title: string
    readonly outcome: string
    readonly comment: string
    readonly by: string
  },
  when: string,
): string {
  const comment = feedback.comment === '' ? '' : `: "${oneLine(feedback.comment, correctionMaxChars)}"`
  return `- [${when}] ${feedback.taskId} "${oneLine(feedback.title, quotedMaxChars)}" was ${feedback.outcome === 'rework' ? 'to be done again' : feedback.outcome} by ${oneLine(feedback.by, 80)}${comment}`
}

/** Pure. Whether two lines differ only in their time. */
export function isSameLearning(one: string, other: string): boolean {
  return one.replace(stampPattern, '') === other.replace(stampPattern, '')
}

/** Pure. Returns the newest lines in their order, within both the line and the character limit. */
export function newestWithin(
  lines: readonly string[],
  linesMax: number,
  maxChars: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const kept: string[] = []
  let chars = 0
  for (const line of lines.slice(-linesMax).toReversed()) {
    chars += line.length + 1
    if (chars > maxChars) break
    kept.push(line)
  }
  return kept.toReversed()
}
