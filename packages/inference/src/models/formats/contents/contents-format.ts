import type { ApiFormat } from '../api-format.ts'
import { isRecord } from '../empty-answer.ts'
import { googleErrorEvent } from '../google-error.ts'
import { badRequest } from '../json-body.ts'
import { parsedData } from '../sse-parser.ts'
import type { StreamForm } from '../sse-parser.ts'
import { contentsAnswer, lastPieceStart, printedPiece } from './contents-answer.ts'
import { contentsBoundField, readContentsParameters } from './contents-parameters.ts'
import { contentsUsageFrom } from './contents-usage.ts'

/**
 * `/v1beta/models/{model}:generateContent` and its stream. No provider gets this form: the mesh translates each call
 * to a chat completion, also for Google, and its answer back.
 */
export const contentsFormat: ApiFormat = {
  form: 'contents',
  read: (body, _betas, named) => {
    if (named === undefined) throw badRequest('the path must name a model')
    return readContentsParameters(body, named)
  },
  hasOutput: true,
  boundField: contentsBoundField,
  usageOf: (answer) => contentsUsageFrom(answer['usageMetadata']),
  saysNothing: saysNoContents,
  usageWithCost: null,
  createStreamForm: () => contentsStream,
  wholeAsEvents: (body) => Buffer.concat([Buffer.from('data: '), body, Buffer.from('\n\n')]),
  withErrorBody: (problem) => problem,
  errorEvent: googleErrorEvent,
}

const lastPiece = Buffer.from(lastPieceStart)

const contentsStream: StreamForm = {
  endMark: lastPiece,
  usageName: Buffer.from('"usageMetadata"'),
  // Google's client for Python takes a comment within a stream for an answer.
  keepAlive: Buffer.from(printedPiece(contentsAnswer({ id: '', model: '' }, []))),
  isEnd: (data, from, end) =>
    end - from >= lastPiece.length &&
    data.compare(lastPiece, 0, lastPiece.length, from, from + lastPiece.length) === 0,
  tell(event, progress) {
    progress.usage = contentsUsageFrom(parsedData(event)?.['usageMetadata']) ?? progress.usage
    return event
  },
}

/** Ends that explain an answer without words: the caller's own bound, or the provider's filter. */
const explainedEnds: readonly unknown[] = ['MAX_TOKENS', 'SAFETY']

/** Whether this answer, or this piece of its stream, has no word, no call and no reason for its end. Pure. */
function saysNoContents({ candidates }: Readonly<Record<string, unknown>>): boolean {
  if (!Array.isArray(candidates)) return false
  return (candidates as readonly unknown[]).every((candidate) => {
    if (!isRecord(candidate) || explainedEnds.includes(candidate['finishReason'])) return false
    const parts: unknown = isRecord(candidate['content']) ? candidate['content']['parts'] : null
    return Array.isArray(parts) && (parts as readonly unknown[]).every(isEmptyPart)
  })
}

/** Only an empty text counts as empty, so that parts of new kinds are content. */
function isEmptyPart(part: unknown): boolean {
  return isRecord(part) && part['text'] === '' && part['thoughtSignature'] === undefined
}
