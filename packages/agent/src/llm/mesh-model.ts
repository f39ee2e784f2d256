import type { IncomingMessage } from 'node:http'
import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import { headers } from '@flotilla/protocol/headers'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import { isProblemCode, problemCatalog } from '@flotilla/protocol/problem-catalog'
import { createServerSentEventParser } from '@flotilla/protocol/server-sent-events'
import type { ImageStore } from '../images/image-store.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { createAnswerAssembly } from './assemble-answer.ts'
import type { LanguageModel, ModelAnswer, ModelRequest } from './language-model.ts'
import { hasImages, wireMessages } from './wire-messages.ts'
import type { WirePictures } from './wire-messages.ts'

/** Longest silence inside an answer; a reasoning model thinks for minutes before its first word. */
const silenceMaxMs = 300_000
/** Longest event that is waited for; a provider that sends more in one piece is broken. */
const eventMaxChars = 8 * 1024 * 1024
const triesMax = 4
const waitsMs = [1000, 4000, 15_000] as const
const retryAfterMaxMs = 60_000

/**
 * Asks through the mesh, which holds the provider's key and asks again what may heal there. What is left to ask again
 * here, three times at most, is what never came that far: a mesh on its way back, a rate limit that names its end. A model
 * that refuses pictures is told of them in words, from then on.
 */
export function createMeshModel(deps: {
  mesh: RunMesh
  model: string
  clock: Clock
  images?: Pick<ImageStore, 'load'>
  /** False where it is known that the model sees none. */
  seesImages?: boolean
  /** Hears of a wait before the model is asked again. */
  onWait?: (wait: ModelWait) => void
}): LanguageModel {
  let seen = deps.seesImages ?? true
  const askOnce = async (
    { request, asksAgain }: { readonly request: ModelRequest; readonly asksAgain: boolean },
    onText: (delta: string) => void,
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
  /** An answer that a bound of the mesh cut off is asked for again without one; both were paid for. */
  const ask: LanguageModel['answer'] = async (request, onText, signal) => {
    const asksAgain = request.answerTokensMax === null
    const { answer, isCutByMesh } = await askOnce({ request, asksAgain }, onText, signal)
    if (!asksAgain || !isCutByMesh) return answer
    try {
      const whole = (await askOnce({ request, asksAgain: false }, onText, signal)).answer
      return { ...whole, tokens: whole.tokens + answer.tokens, costUsd: whole.costUsd + answer.costUsd }
    } catch {
      // The budget may have no room for another, or the provider be gone: half an answer that is paid for is left.
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
            // What the mesh names itself is repaired in the conversation, for all later turns too.
            if (problem.code !== 'history-refused') continue
          }
          if (tries === triesMax || !mayHeal(problem)) throw problem
          const waitMs = waitsMs[tries - 1]! // tries is below triesMax here
          const askedMs = Math.min((problem.retryAfterSeconds ?? 0) * 1000, retryAfterMaxMs)
          const sleepMs = Math.max(waitMs, askedMs)
          deps.onWait?.(waitOf(problem, sleepMs))
          await deps.clock.sleep(sleepMs, signal)
        }
      }
    },
  }
}

/** What is told of a wait: names and numbers that the mesh gave, and none of a provider's words. */
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

/** A stream that has begun was paid for; asked again, it would be paid twice. */
const begun = { attempts: 1 } as const

/** `attempts` says that the mesh has done what there is to do; a rate limit that names its end is waited for here. */
function mayHeal(problem: Problem): boolean {
  if (!problemCatalog[problem.code].retryable) return false
  return problem.extra['attempts'] === undefined || problem.retryAfterSeconds !== undefined
}

async function readAnswer(reply: IncomingMessage, onText: (delta: string) => void) {
  const assembly = createAnswerAssembly()
  const take = (data: string): void => {
    if (data === '[DONE]' || data.trim() === '') return
    const words = assembly.take(JSON.parse(data))
    if (words !== '') onText(words)
  }
  reply.setEncoding('utf8')
  if ((reply.headers['content-type'] ?? '').includes('text/event-stream')) {
    const events = createServerSentEventParser(eventMaxChars)
    for await (const piece of reply as AsyncIterable<string>) {
      for (const { data } of events.push(piece)) take(data)
    }
    // Some providers leave out the last blank line; an answer that broke off is found by what is missing in it.
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
    throw new Problem('upstream-failed', { detail: 'The answer of the model broke off.', extra: begun })
  const answeredBy = reply.headers[headers.answeringModel]
  const by = typeof answeredBy === 'string' ? answeredBy : null
  const answer: ModelAnswer = { ...assembly.answer(), answeredBy: by }
  return { answer, isCutByMesh: assembly.isCutByMesh() }
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return error instanceof SyntaxError || error instanceof RangeError
    ? new Problem('model-failed', { detail: 'The answer of the model cannot be read.', cause: error })
    : new Problem('upstream-failed', { detail: 'The answer of the model broke off.', cause: error })
}

/** Providers have no common code for it, but all name what they do not take. */
function refusesImages(problem: Problem): boolean {
  if (problemCatalog[problem.code].retryable) return false
  return /image|vision|multi-?modal|modalit/i.test(problem.detail)
}

async function bodyOf(model: string, request: ModelRequest, pictures: WirePictures): Promise<unknown> {
  const tools = request.tools.map((definition) => ({ type: 'function', function: definition }))
  return {
    model,
    messages: await wireMessages(request.messages, pictures),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 ? { tools, tool_choice: request.mayCallTools ? 'auto' : 'none' } : {}),
    ...(request.answerTokensMax === null ? {} : { max_completion_tokens: request.answerTokensMax }),
  }
}
