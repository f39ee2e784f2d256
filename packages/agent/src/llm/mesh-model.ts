import type { IncomingMessage } from 'node:http'
import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import { deferredTools } from '@flotilla/protocol/deferred-tools'
import { headers } from '@flotilla/protocol/headers'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import { isProblemCode, problemCatalog } from '@flotilla/protocol/problem-catalog'
import { createServerSentEventParser } from '@flotilla/protocol/server-sent-events'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { ImageStore } from '../images/image-store.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { createAnswerAssembly } from './assemble-answer.ts'
import type { LanguageModel, ModelAnswer, ModelRequest, OnText } from './language-model.ts'
import { hasImages, wireMessages } from './wire-messages.ts'
import type { WirePictures } from './wire-messages.ts'

/** Longest silence inside an answer; a reasoning model may think for minutes before its first token. */
const silenceMaxMs = 300_000
/** Longest event that is accepted; a provider that sends more in one piece is broken. */
const eventMaxChars = 8 * 1024 * 1024
const triesMax = 4
const waitsMs = [1000, 4000, 15_000] as const
const retryAfterMaxMs = 60_000

/**
 * Calls the model through the mesh, which holds the provider's key and retries what may succeed there. This
 * client retries, at most three times, only what did not reach a provider: a restarting mesh, or a rate limit
 * that names its end. A model that rejects pictures gets them described in text from then on.
 */
export function createMeshModel(deps: {
  mesh: RunMesh
  model: string
  clock: Clock
  images?: Pick<ImageStore, 'load'>
  /** False where the model is known not to support pictures. */
  seesImages?: boolean
  /** Called before each wait and retry. */
  onWait?: (wait: ModelWait) => void
}): LanguageModel {
  let seen = deps.seesImages ?? true
  const askOnce = async (
    { request, asksAgain }: { readonly request: ModelRequest; readonly asksAgain: boolean },
    onText: OnText,
    signal: AbortSignal,
  ) => {
    const reply = await deps.mesh.open({
      asksAgain,
      ...(request.purpose === undefined ? {} : { purpose: request.purpose }),
      endpoint: meshAgentEndpoints.chatCompletions,
      body: await bodyOf(deps.model, request, { store: deps.images ?? null, seen }),
      timeoutMs: silenceMaxMs,
      signal,
    })
    return readAnswer(reply, onText)
  }
  /** An answer that a bound of the mesh cut off is requested again without one; both were paid for. */
  const ask: LanguageModel['answer'] = async (request, onText, signal) => {
    const asksAgain = request.answerTokensMax === null
    const { answer, isCutByMesh } = await askOnce({ request, asksAgain }, onText, signal)
    if (!asksAgain || !isCutByMesh) return answer
    try {
      const whole = (await askOnce({ request, asksAgain: false }, onText, signal)).answer
      return { ...whole, tokens: whole.tokens + answer.tokens, costUsd: whole.costUsd + answer.costUsd }
    } catch {
      // The second call may fail for its cost or its provider: then the paid first part of the answer is returned.
      signal.throwIfAborted()
      return answer
    }
  }
  return {
    answer: async (request, onText, signal) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await ask(request, onText, signal)
        } catch (error) {
          signal.throwIfAborted()
          const problem = asProblem(error)
          if (seen && hasImages(request.messages) && refusesImages(problem)) {
            seen = false
            // A rejection that the mesh recognizes is repaired in the conversation, for all later turns too.
            if (problem.code !== 'history-refused') continue
          }
          if (tries === triesMax || !mayHeal(problem)) throw problem
          const waitMs = waitsMs[tries - 1]! // tries is below triesMax here
          const retryAfterMs = Math.min((problem.retryAfterSeconds ?? 0) * 1000, retryAfterMaxMs)
          const sleepMs = Math.max(waitMs, retryAfterMs)
          deps.onWait?.(waitOf(problem, sleepMs))
          await deps.clock.sleep(sleepMs, signal)
        }
      }
    },
  }
}

/** What is published about a wait: names and numbers from the mesh, and no text of a provider. */
export type ModelWait = Omit<Extract<ChatFrame, { type: 'model_wait' }>, 'type'>

function waitOf({ code, extra }: Problem, ms: number): ModelWait {
  const { provider, provider_status: status } = extra
  return {
    seconds: Math.ceil(ms / 1000),
    code,
    provider: typeof provider === 'string' ? provider : null,
    provider_status: typeof status === 'number' ? status : null,
  }
}

/** The model has begun a stream, which was paid for; `attempts` prevents a retry that would be paid again. */
const begun = { attempts: 1 } as const

/** True if a retry may help: after retries of the mesh (`attempts`), only if the rate limit names its end. */
function mayHeal(problem: Problem): boolean {
  if (!problemCatalog[problem.code].retryable) return false
  return problem.extra['attempts'] === undefined || problem.retryAfterSeconds !== undefined
}

async function readAnswer(reply: IncomingMessage, onText: OnText) {
  const assembly = createAnswerAssembly()
  const take = (data: string): void => {
    if (data === '[DONE]' || data.trim() === '') return
    const text = assembly.take(JSON.parse(data))
    if (text !== '') onText(text, assembly.begins(text))
  }
  reply.setEncoding('utf8')
  if ((reply.headers['content-type'] ?? '').includes('text/event-stream')) {
    const events = createServerSentEventParser(eventMaxChars)
    for await (const piece of reply as AsyncIterable<string>) {
      for (const { data } of events.push(piece)) take(data)
    }
    // Ends the last event, because some providers omit its blank line. `isWhole` below detects truncated answers.
    for (const { data } of events.push('\n\n')) take(data)
  } else {
    let body = ''
    for await (const piece of reply as AsyncIterable<string>) body += piece
    take(body)
  }
  const failure = assembly.error()
  if (failure) {
    const code = isProblemCode(failure.code) ? failure.code : 'model-failed'
    throw new Problem(code, { detail: failure.detail, extra: begun })
  }
  if (!assembly.isWhole())
    throw new Problem('upstream-failed', { detail: 'The answer of the model ended early.', extra: begun })
  const answeredBy = reply.headers[headers.answeringModel]
  const by = typeof answeredBy === 'string' ? answeredBy : null
  const answer: ModelAnswer = { ...assembly.answer(), answeredBy: by }
  return { answer, isCutByMesh: assembly.isCutByMesh() }
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return error instanceof SyntaxError || error instanceof RangeError
    ? new Problem('model-failed', { detail: 'The answer of the model cannot be read.', cause: error })
    : new Problem('upstream-failed', { detail: 'The answer of the model ended early.', cause: error })
}

/** True if the provider rejected pictures: there is no common code, but each provider's text says so. */
function refusesImages(problem: Problem): boolean {
  if (problemCatalog[problem.code].retryable) return false
  return /image|vision|multi-?modal|modalit/i.test(problem.detail)
}

async function bodyOf(model: string, request: ModelRequest, pictures: WirePictures): Promise<unknown> {
  const asFunction = (definition: ToolDefinition) => ({ type: 'function', function: definition })
  const tools = request.tools.map(asFunction)
  const { found } = request
  return {
    model,
    messages: await wireMessages(request.messages, pictures, found?.results),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 ? { tools, tool_choice: request.mayCallTools ? 'auto' : 'none' } : {}),
    ...(found ? { [deferredTools.definitions]: found.definitions.map(asFunction) } : {}),
    ...(request.answerTokensMax === null ? {} : { max_completion_tokens: request.answerTokensMax }),
  }
}
