import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { Problem } from '@flotilla/protocol/problem'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { createMeshHttp } from '../mesh/mesh-http.ts'
import { createRunMesh } from '../mesh/run-mesh.ts'
import { systemClock } from '../system-clock.ts'
import { doorToken } from '../testing/agent-process.ts'
import { sendProblem, startFakeMesh } from '../testing/fake-mesh.ts'
import type { MeshAnswer } from '../testing/fake-mesh.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { describeLanguageModel } from './language-model.conformance.ts'
import type { LanguageModel, ModelRequest } from './language-model.ts'
import { createMeshModel } from './mesh-model.ts'

/** Waits are skipped and recorded. */
function hastyClock() {
  const waitsMs: number[] = []
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted()
    waitsMs.push(ms)
  }
  return { waitsMs, clock: { now: () => systemClock.now(), sleep } }
}

async function meshModel(answer: MeshAnswer) {
  const mesh = await startFakeMesh([answer])
  const { clock, waitsMs } = hastyClock()
  const http = createMeshHttp({ host: '127.0.0.1', port: mesh.port, doorToken, clock, log: quietLog })
  const runMesh = createRunMesh(http, { runId: 'run_1', fence: 3 }, () => undefined)
  const model: LanguageModel = createMeshModel({
    mesh: runMesh,
    model: 'some/model',
    clock,
    images: { load: async () => 'QUJD' },
  })
  const close = async (): Promise<void> => {
    http.close()
    await mesh.close()
  }
  return { model, mesh, waitsMs, close }
}

function streamed(chunks: readonly unknown[], end = 'data: [DONE]\n\n'): MeshAnswer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + end)
  }
}

const words = (content: string, finish: string | null = null) => ({
  choices: [{ delta: { content }, finish_reason: finish }],
})
const usage = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 2, cost_usd: 0.25 } }
const request: ModelRequest = {
  messages: [{ role: 'user', content: sanitizeForPrompt('hi') }],
  tools: [{ name: 't', description: 'd', parameters: { type: 'object', properties: {} } }],
  mayCallTools: false,
  answerTokensMax: 99,
}
const signal = new AbortController().signal

describeLanguageModel('the model behind the mesh', async (answer) => {
  const { model, close } = await meshModel((seen, response) => {
    if (!answer) return sendProblem(response, 403, 'denied')
    const calls = answer.toolCalls.map((call, index) => ({
      choices: [{ delta: { tool_calls: [{ index, id: call.id, function: call }] }, finish_reason: null }],
    }))
    return streamed([words(answer.text), ...calls, words('', 'stop'), usage])(seen, response)
  })
  return { model, close }
})

test('the request streams, asks for usage, names the run and forbids calls when it is the last', async () => {
  const { model, mesh, close } = await meshModel(streamed([words('ok', 'stop'), usage]))
  const answer = await model.answer(request, () => undefined, signal)
  await close()
  expect(answer).toMatchObject({ text: 'ok', tokens: 9, costUsd: 0.25 })
  expect(mesh.requests[0]?.headers).toMatchObject({
    authorization: `Bearer ${doorToken}`,
    'x-run-id': 'run_1',
    'x-run-fence': '3',
  })
  expect(mesh.requests[0]?.body).toMatchObject({
    stream: true,
    stream_options: { include_usage: true },
    tool_choice: 'none',
    max_completion_tokens: 99,
  })
})

test('the request has the found tools, and each result of a search has their names', async () => {
  const { model, mesh, close } = await meshModel(streamed([words('ok', 'stop'), usage]))
  const definition = request.tools[0]! // the request has one tool
  const result = { role: 'tool', toolCallId: 'c', content: sanitizeForPrompt('found') } as const
  const found = { definitions: [definition], results: new Map([[result, { names: ['t'], note: 'n' }]]) }
  await model.answer({ ...request, messages: [...request.messages, result], found }, () => undefined, signal)
  await close()
  expect(mesh.requests[0]?.body).toMatchObject({
    messages: [
      { role: 'user' },
      { role: 'tool', content: 'found', found_tools: { names: ['t'], note: 'n' } },
    ],
    deferred_tools: [{ type: 'function', function: definition }],
  })
})

test('a stream under which the mesh itself went away is asked for again', async () => {
  let times = 0
  const { model, waitsMs, close } = await meshModel((seen, response) => {
    times += 1
    if (times > 1) return streamed([words('whole', 'stop'), usage])(seen, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify(words('half'))}\n\n`, () => response.destroy())
    return undefined
  })
  const answer = await model.answer(request, () => undefined, signal)
  await close()
  expect(answer.text).toBe('whole')
  expect(waitsMs).toEqual([1000])
})

test('an error inside the stream is reported with its code', async () => {
  const error = { error: { code: 'budget-exhausted', message: 'all spent' } }
  const { model, close } = await meshModel(streamed([words('a'), error]))
  await expect(model.answer(request, () => undefined, signal)).rejects.toMatchObject({
    code: 'budget-exhausted',
    detail: 'all spent',
  })
  await close()
})

test.each([
  ['ends without its end', [words('half')]],
  ['tells an error', [words('half'), { error: { code: 'upstream-failed', message: 'broke off' } }]],
  ['tells a stranger’s error', [words('half'), { error: { code: 'server_error', message: 'oops' } }]],
])('a stream that %s is never paid for twice', async (_how, chunks) => {
  heedsLesson(86)
  const { model, mesh, waitsMs, close } = await meshModel(streamed(chunks, ''))
  await expect(model.answer(request, () => undefined, signal)).rejects.toBeInstanceOf(Problem)
  await close()
  expect(mesh.requests).toHaveLength(1)
  expect(waitsMs).toEqual([])
})

test('what the mesh has tried several times is not tried several times again', async () => {
  const { model, mesh, waitsMs, close } = await meshModel((_seen, response) => {
    response.writeHead(502, { 'content-type': 'application/problem+json' })
    const error = { code: 'provider-unreachable', message: 'nobody there', attempts: 3 }
    response.end(JSON.stringify({ code: 'provider-unreachable', detail: 'nobody there', error }))
    return undefined
  })
  await expect(model.answer(request, () => undefined, signal)).rejects.toMatchObject({
    code: 'provider-unreachable',
  })
  await close()
  expect(mesh.requests).toHaveLength(1)
  expect(waitsMs).toEqual([])
})

test('a model that rejects pictures gets them described in text, and no picture again', async () => {
  const image = { mediaType: 'image/png', sha256: 'a'.repeat(64), sizeBytes: 3 } as const
  const shown = {
    role: 'tool',
    toolCallId: 'c',
    content: sanitizeForPrompt('seen'),
    images: [image],
  } as const
  const { model, mesh, close } = await meshModel((seen, response) => {
    if (!JSON.stringify(seen.body).includes('image_url'))
      return streamed([words('ok', 'stop')])(seen, response)
    response.writeHead(400, { 'content-type': 'application/problem+json' })
    const detail = 'This model does not support image input.'
    response.end(JSON.stringify({ status: 400, code: 'provider-refused', detail }))
    return undefined
  })
  for (const expected of [2, 3]) {
    await model.answer({ ...request, messages: [...request.messages, shown] }, () => undefined, signal)
    expect(mesh.requests).toHaveLength(expected)
  }
  await close()
  expect(JSON.stringify(mesh.requests.at(-1)?.body)).toContain('this model cannot see pictures')
})

test('a rate limit is waited out as long as it asks', async () => {
  let times = 0
  const { model, waitsMs, close } = await meshModel((seen, response) => {
    times += 1
    if (times > 1) return streamed([words('ok', 'stop')])(seen, response)
    response.setHeader('retry-after', '30')
    return sendProblem(response, 429, 'rate-limited')
  })
  await model.answer(request, () => undefined, signal)
  await close()
  expect(waitsMs).toEqual([30_000])
})

test('a provider that stays away is given up after four tries', async () => {
  const { model, mesh, close } = await meshModel((_seen, response) =>
    sendProblem(response, 502, 'provider-unreachable'),
  )
  await expect(model.answer(request, () => undefined, signal)).rejects.toMatchObject({
    code: 'provider-unreachable',
  })
  await close()
  expect(mesh.requests).toHaveLength(4)
})

test('an answer that a bound of the mesh cut off is asked for again without one, and both are counted', async () => {
  const asked: (string | undefined)[] = []
  const { model, close } = await meshModel((seen, response) => {
    const again = seen.headers['x-flotilla-asks-again']
    asked.push(typeof again === 'string' ? again : undefined)
    const isFirst = asked.length === 1
    const told = { ...usage.usage, ...(isFirst ? { answer_bound: 1024 } : {}) }
    const text = isFirst ? words('half an', 'length') : words('a whole answer', 'stop')
    return streamed([text, { choices: [], usage: told }])(seen, response)
  })
  const answer = await model.answer({ ...request, answerTokensMax: null }, () => undefined, signal)
  await close()
  expect(asked).toEqual(['1', undefined])
  expect(answer).toMatchObject({ text: 'a whole answer', cutOff: false, tokens: 18, costUsd: 0.5 })
})

test('an answer that its model or the budget cut off is not asked for again', async () => {
  let calls = 0
  const { model, close } = await meshModel((seen, response) => {
    calls += 1
    const told = { ...usage.usage, answer_bound: null }
    return streamed([words('half an', 'length'), { choices: [], usage: told }])(seen, response)
  })
  const answer = await model.answer({ ...request, answerTokensMax: null }, () => undefined, signal)
  await close()
  expect(calls).toBe(1)
  expect(answer).toMatchObject({ text: 'half an', cutOff: true })
})

test('an answer without a reported bound is not requested again', async () => {
  let calls = 0
  const { model, close } = await meshModel((seen, response) => {
    calls += 1
    return streamed([words('half an', 'length')])(seen, response)
  })
  const answer = await model.answer({ ...request, answerTokensMax: null }, () => undefined, signal)
  await close()
  expect(calls).toBe(1)
  expect(answer).toMatchObject({ text: 'half an', cutOff: true })
})

test('a bound that the mesh sent before the first text leads to a second request when no usage arrived', async () => {
  let calls = 0
  const { model, close } = await meshModel((seen, response) => {
    calls += 1
    const first = [{ choices: [], answer_bound: 1024 }, words('half an', 'length')]
    return streamed(calls === 1 ? first : [words('a whole answer', 'stop')])(seen, response)
  })
  const answer = await model.answer({ ...request, answerTokensMax: null }, () => undefined, signal)
  await close()
  expect(calls).toBe(2)
  expect(answer).toMatchObject({ text: 'a whole answer', cutOff: false })
})

test.each(['budget-exhausted', 'provider-unreachable'] as const)(
  'a cut answer is what there is where it cannot be asked for again (%s)',
  async (code) => {
    let calls = 0
    const { model, close } = await meshModel((seen, response) => {
      calls += 1
      if (calls > 1) return sendProblem(response, problemCatalog[code].status, code)
      const told = { ...usage.usage, answer_bound: 1024 }
      return streamed([words('half an', 'length'), { choices: [], usage: told }])(seen, response)
    })
    const answer = await model.answer({ ...request, answerTokensMax: null }, () => undefined, signal)
    await close()
    expect(calls).toBe(2)
    expect(answer).toMatchObject({ text: 'half an', cutOff: true })
  },
)

test('a caller that aborts while a cut answer is requested again gets no answer', async () => {
  const stopping = new AbortController()
  let calls = 0
  const { model, close } = await meshModel((seen, response) => {
    calls += 1
    if (calls > 1) {
      stopping.abort(new Error('stopped'))
      return undefined
    }
    const told = { ...usage.usage, answer_bound: 1024 }
    return streamed([words('half an', 'length'), { choices: [], usage: told }])(seen, response)
  })
  const asked = model.answer({ ...request, answerTokensMax: null }, () => undefined, stopping.signal)
  await expect(asked).rejects.toThrow('stopped')
  await close()
})
