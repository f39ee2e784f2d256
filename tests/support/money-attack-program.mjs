// Runs inside an agent as a hostile program: calls a model in every way that might cost more than is charged.
import { appendFileSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const [who, model, kind, more = ''] = process.argv.slice(2)
const token = kind === 'with-token' ? readFileSync(more, 'utf8') : process.env.OPENAI_API_KEY
const address = `${process.env.OPENAI_BASE_URL}/chat/completions`
const tally = {}

async function call(way, body = {}, { leaveMs = null, headers = {} } = {}) {
  const sent = {
    model,
    max_tokens: 400,
    stream: true,
    messages: [{ role: 'user', content: `${who} ${way} ${'x'.repeat(300)}` }],
    ...body,
  }
  let told
  try {
    const reply = await fetch(address, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(sent),
      ...(leaveMs === null ? {} : { signal: AbortSignal.timeout(leaveMs) }),
    })
    told = reply.status
    await reply.text()
  } catch {
    told = told === undefined ? 'left' : `${told} cut`
  }
  tally[`${way} ${told}`] = (tally[`${way} ${told}`] ?? 0) + 1
  return told
}

const ways = [
  () => call('streams'),
  () => call('whole', { stream: false }),
  () => call('leaves at once', {}, { leaveMs: 5 }),
  () => call('leaves in mid-stream', {}, { leaveMs: 120 }),
  () => call('leaves a whole answer', { stream: false }, { leaveMs: 60 }),
  () => call('many', { n: 4 }),
  () => call('very many', { n: 1_000_000 }),
  () => call('none', { n: -1 }),
  () => call('endless', { max_tokens: 1_000_000_000 }),
  () => call('negative', { max_tokens: -400 }),
  () => call('two bounds', { max_tokens: 1, max_completion_tokens: 100_000 }),
  () => call('unbounded', { max_tokens: undefined }),
  () => call('no usage', { stream_options: { include_usage: false } }),
  () => call('replayed', {}, { headers: { 'idempotency-key': 'the-same' } }),
  () => call('broken', {}),
  () => call('broken whole', { stream: false }),
  () => call('broken early', {}),
  () => call('failing', {}),
]

if (kind === 'storm') {
  const until = Date.now() + Number(more) * 1000
  const worker = async (at) => {
    for (let turn = at; Date.now() < until; turn++) {
      if ((await ways[turn % ways.length]()) === 402) await sleep(100)
    }
  }
  await Promise.all(Array.from({ length: 24 }, (_, at) => worker(at)))
} else if (kind === 'with-token') {
  for (let at = 0; at < 5; at++) await call('revoked')
} else {
  // Continues after its run, and writes when each call began and ended, and the reply.
  for (;;) {
    const beganAt = Date.now()
    const answer = await call('after')
    appendFileSync(more, `${beganAt} ${Date.now()} ${answer}\n`)
    await sleep(50)
  }
}
process.stdout.write(`SEEN ${JSON.stringify(tally)}\n`)
