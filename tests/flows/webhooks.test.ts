import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { sign as signForGitHub } from '@octokit/webhooks-methods'
import { headers as headerNames } from '@flotilla/protocol/headers'
import { webhookApi, webhookEndpoints, webhookReceiptSchema } from '@flotilla/protocol/webhook-api'
import type { DeliveryView, WebhookView } from '@flotilla/protocol/webhook-api'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { httpCall } from '../support/http-call.ts'
import type { Reply } from '../support/http-call.ts'
import { startMesh } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { flotilla } from '../support/flotilla-command.ts'

const run = promisify(execFile)
const words = 'words that only the owner may read'
const day = aCassette({ when: '^\\[Webhook "', turns: [says(words)] })

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { day }, settings: { webhooks: { per_minute: 5000 } } })
  await mesh.createWorker('clerk')
})
afterAll(() => mesh?.stop())
beforeEach(() => mesh.restartIfStopped())

async function aHook(more: object = {}): Promise<{ hook: WebhookView; secret: string; url: string }> {
  const reply = await mesh.call(webhookEndpoints.webhookCreate, {
    body: { name: 'builds', agent_id: 'clerk', ...more },
  })
  const { webhook, secret } = webhookApi.webhookCreate.response.parse(reply.json())
  return { hook: webhook, secret: secret ?? '', url: `${mesh.url}${webhook.path}` }
}

const hex = (secret: string, body: string | Buffer) => createHmac('sha256', secret).update(body).digest('hex')

function deliver(url: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Reply> {
  return httpCall({ method: 'POST', url, body, headers: { 'content-type': 'application/json', ...headers } })
}

async function deliveries(hook: WebhookView): Promise<readonly DeliveryView[]> {
  const reply = await mesh.call(webhookEndpoints.webhookDeliveries, {
    params: { id: hook.id },
    query: { limit: 200 },
  })
  return webhookApi.webhookDeliveries.response.parse(reply.json()).deliveries
}

const receipt = (reply: Reply) => webhookReceiptSchema.parse(reply.json())

/** Runs a command as a person does. */
const cli = (...line: string[]) => flotilla({ url: mesh.url, home: mesh.home }, ...line)

it('a person makes a webhook in the terminal, and the printed lines send a signed event', async () => {
  const made = await cli('webhooks', 'add', 'clerk', 'deploys', '--instructions', 'Note it.')
  expect(made.err).toBe('')
  expect(made).toMatchObject({ code: 0, out: expect.stringContaining('shown this once: whsec_') })
  const [id] = /hook_\w+/.exec(made.out) ?? ['none']
  const lines = /^SECRET=[\s\S]*--data-binary "\$BODY"$/m.exec(made.out)?.[0] ?? ''
  const sent = await run('bash', ['-c', lines])
  expect(JSON.parse(sent.stdout)).toMatchObject({ status: 'accepted', duplicate: false })

  const tested = await cli('webhooks', 'test', 'deploys', '{"build": 7}')
  const [tried] = /run_\w+/.exec(tested.err + tested.out) ?? ['none']
  expect(await mesh.ended(tried)).toMatchObject({ origin: { kind: 'webhook' }, outcome: { text: words } })
  expect(await cli('webhooks', 'test', 'deploy', '{}')).toMatchObject({
    code: 2,
    err: /did you mean deploys\?/,
  })
  expect(await cli('webhooks', 'test', id, '{build')).toMatchObject({ code: 1, err: /not JSON/ })

  expect((await cli('webhooks', 'set', id, '--when', 'build > 9', '--accept-repeats')).code).toBe(0)
  expect((await cli('webhooks', 'test', id, '{"build": 7}')).out).toMatch(/^The event is skipped: /)
  expect((await cli('webhooks', 'set', id, '--when', '', '--off')).out).toMatch(/ is off\.$/m)
  const listed = await mesh.call(webhookEndpoints.webhooks)
  const hook = webhookApi.webhooks.response.parse(listed.json()).webhooks.find((one) => one.id === id)
  expect(hook).toMatchObject({ when: null, enabled: false, repeats: 'accept', instructions: 'Note it.' })
  expect((await cli('webhooks', 'set', id)).err).toMatch(/names nothing to change/)
  expect((await cli('webhooks', 'remove', id)).out).toBe(`Removed ${id}.\n`)
  expect((await cli('webhooks', 'list')).out).not.toContain('deploys')
})

describe('senders that nobody here wrote', () => {
  it('curl makes a hook and openssl signs; the answer comes before the agent’s, and has none of it', async () => {
    heedsLesson(23)
    verifies(
      'endpoints:webhook:route',
      'endpoints:webhook:signature-header',
      'endpoints:webhook:response',
      'resources:webhook:hook-id',
      'purpose:mesh:runs-webhooks',
      'purpose:chat-mode:webhook-channel',
      'resources:webhook:secret',
      'events:inbound:webhook',
      'endpoints:dashboard:requested-with',
    )
    const curl = async (...more: string[]) =>
      (await run('curl', ['-sS', '-w', '\n%{http_code}', ...more])).stdout
    const json = ['-H', 'Content-Type: application/json']
    const create = `${mesh.url}${webhookEndpoints.webhookCreate.path}`
    const wish = ['-d', '{"name":"builds","agent_id":"clerk","instructions":"Note it."}']
    expect(await curl(create, ...json, ...wish)).toMatch(/X-Requested-With[\s\S]*\n403$/)
    const made = await curl(create, ...json, ...wish, '-H', 'X-Requested-With: curl')
    const { webhook, secret } = JSON.parse(made.replace(/\n201$|\n200$/, '')) as {
      webhook: WebhookView
      secret: string
    }
    const place = `${mesh.url}/webhook/hook/${webhook.id}`
    const body = '{"build": 7, "result": "failed"}'
    const sign = `printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -hex | sed 's/.* //'`
    const { stdout } = await run('sh', ['-c', sign], { env: { ...process.env, BODY: body, SECRET: secret } })
    const told = await curl(place, ...json, '-d', body, '-H', `x-webhook-signature: ${stdout.trim()}`)
    expect(told).toMatch(/\n202$/)
    expect(JSON.parse(told.replace(/\n202$/, ''))).toEqual({
      status: 'accepted',
      run_id: expect.stringMatching(/^run_/),
      duplicate: false,
    })
    const { run_id: id } = JSON.parse(told.replace(/\n202$/, '')) as { run_id: string }
    const ended = await mesh.ended(id)
    expect(ended).toMatchObject({
      agent_id: 'clerk',
      kind: 'chat',
      origin: { kind: 'webhook', user: webhook.id },
      outcome: { status: 'done', text: words },
    })
    expect(ended.input).toMatchObject({ message: expect.stringContaining('"result": "failed"') })
    // The same delivery again, after the agent has answered: the reply contains nothing of the answer.
    const again = await curl(place, ...json, '-d', body, '-H', `x-webhook-signature: ${stdout.trim()}`)
    expect(JSON.parse(again.replace(/\n202$/, ''))).toEqual({
      status: 'accepted',
      run_id: id,
      duplicate: true,
    })
    expect(told + again).not.toContain('words')
    expect((await deliveries(webhook)).map(({ state, outcome }) => [state, outcome])).toEqual([
      ['duplicate', null],
      ['accepted', 'done'],
    ])
    expect(await readFile(join(mesh.home, '.env'), 'utf8')).toContain(secret)
    for (const name of ['mesh.db', 'mesh.db-wal']) {
      const bytes = await readFile(join(mesh.home, 'data', name)).catch(() => Buffer.alloc(0))
      expect(bytes.includes(secret), name).toBe(false)
    }
  })

  it('the standardwebhooks package delivers once, however often it sends', async () => {
    heedsLesson(22)
    const { secret, url } = await aHook()
    const body = '{"type":"user.created"}'
    const send = (at: Date, sent = body) =>
      deliver(url, sent, {
        'webhook-id': 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W',
        'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
        'webhook-signature': new Webhook(secret).sign('msg_2KWPBgLlAfxdpx2AI54pPJ85f4W', at, body),
      })
    const first = receipt(await send(new Date()))
    expect(receipt(await send(new Date(Date.now() - 200_000)))).toEqual({ ...first, duplicate: true })
    expectProblem(await send(new Date(Date.now() - 310_000)), 'signature-refused')
    expectProblem(await send(new Date(), `${body} `), 'signature-refused')
  })

  it('GitHub’s signatures and delivery ids are taken as they are', async () => {
    verifies('errors:webhook-signature')
    const { hook, secret, url } = await aHook()
    const body = '{"action":"opened","number":1}'
    const headers = {
      'X-Hub-Signature-256': await signForGitHub(secret, body),
      'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'X-GitHub-Event': 'pull_request',
    }
    const first = receipt(await deliver(url, body, headers))
    expect(receipt(await deliver(url, body, headers))).toEqual({ ...first, duplicate: true })
    expect((await deliveries(hook)).map((one) => one.sender_id)).toEqual([
      headers['X-GitHub-Delivery'],
      headers['X-GitHub-Delivery'],
    ])
    expectProblem(await deliver(url, `${body} `, headers), 'signature-refused')
    expectProblem(await deliver(url, body), 'signature-refused')
  })
})

describe('the size of a body', () => {
  const sized = (bytes: number) => Buffer.from(`"${'x'.repeat(bytes - 2)}"`)
  async function* inPieces(body: Buffer): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length; at += 60_000) yield body.subarray(at, at + 60_000)
  }
  const type = { 'content-type': 'application/json' }
  const [longest, tooLong] = [1_048_576, 1_048_577] as const

  it('the size of a body is up to 1,048,576 bytes, and one more is refused', async () => {
    verifies('endpoints:webhook:body-1mb', 'authentication:zone-0:body-cap', 'limits:webhook-body')
    const { hook, url } = await aHook({ signed: false })
    expect((await deliver(url, sized(longest))).status).toBe(202)
    const refused = expectProblem(await deliver(url, sized(tooLong)), 'body-too-large')
    expect(refused).toMatchObject({ status: 413, max_bytes: 1_048_576 })
    expect(
      (await deliveries(hook)).map(({ state, code, payload }) => [state, code, payload === null]),
    ).toEqual([
      ['refused', 'body-too-large', true],
      ['accepted', null, false],
    ])
  })

  it('an agent gets the body without invisible characters, and of that the first 3,000 characters', async () => {
    verifies(
      'endpoints:webhook:forwarded-to-agent',
      'endpoints:webhook:truncated-after-sanitizing',
      'limits:webhook-forwarded-chars',
    )
    const { url } = await aHook({ signed: false })
    const given = async (body: string) => {
      const { run_id: id } = receipt(await deliver(url, body))
      const { agent_id: agentId, input } = await mesh.ended(id ?? '')
      expect(agentId).toBe('clerk')
      return /```json\n([^]*)\n```/.exec('message' in input ? input.message : '')?.[1]
    }
    const hidden = '\u200b'.repeat(10_000)
    expect(await given(JSON.stringify(`${hidden}seen${hidden}`))).toBe('"seen"')
    expect(await given(JSON.stringify('x'.repeat(2998)))).toBe(`"${'x'.repeat(2998)}"`)
    const cut = await given(JSON.stringify('x'.repeat(2999)))
    expect(cut).toHaveLength(3000)
    expect(cut).toMatch(/^"x+\n\[cut\]$/)
  })

  it('the size of a body is refused by the length that it says, before a byte of it comes', async () => {
    verifies('limits:webhook-body:length-pre-check')
    const { hook, url } = await aHook({ signed: false })
    // No body follows these headers, so the mesh must answer without it.
    const answers = (length: number | string) =>
      headAlone(
        `POST ${hook.path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
      )
    expect(await answers(tooLong)).toMatch(/^HTTP\/1\.1 413 /)
    expect(await answers('99999999999')).toMatch(/^HTTP\/1\.1 413 /)
    expect((await deliver(url, '{}')).status).toBe(202)
  })

  it('the size of a body is found out while it is read, where no length is said', async () => {
    verifies('limits:webhook-body:post-read-check')
    const { url } = await aHook({ signed: false })
    for (const [bytes, status] of [
      [longest, 202],
      [tooLong, 413],
    ] as const) {
      const chunked = await httpCall({ method: 'POST', url, headers: type, body: inPieces(sized(bytes)) })
      expect(chunked.status, `${bytes}`).toBe(status)
    }
  })

  /** Returns the reply to these bytes alone, however long it takes. */
  function headAlone(head: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let answer = ''
      const socket = connect(Number(new URL(mesh.url).port), '127.0.0.1', () => socket.write(head))
      socket.on('data', (piece: Buffer) => {
        answer += piece.toString('latin1')
        if (/\r\n\r\n[^]*\}$/.test(answer)) socket.end()
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(answer))
    })
  }
})

/** Writes raw bytes to the API and returns the reply, complete or up to the end of the connection. */
function raw(...pieces: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(Number(new URL(mesh.url).port), '127.0.0.1')
    const done = () => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('data', (piece: Buffer) => {
      answer += piece.toString('latin1')
      if (/\r\n\r\n[^]*[}\]]$/.test(answer)) done()
    })
    socket.on('error', done)
    socket.on('close', done)
    setTimeout(done, patient(5000)).unref()
    for (const piece of pieces) socket.write(piece)
  })
}

describe('what is no delivery', () => {
  it('what is no delivery never makes a run, never ends the mesh, and is answered in the words of a problem', async () => {
    const { hook, url } = await aHook({ signed: false })
    const head = `POST ${hook.path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`
    const broken = [
      `${head}transfer-encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`,
      `${head}transfer-encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n`,
      `${head}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
      `${head}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      `${head}content-length: -2\r\n\r\n{}`,
      `${head}content-length: 0\r\n\r\n`,
      `${head}\r\n`,
      `${head}transfer-encoding: gzip\r\n\r\n{}`,
      `${head}content-length: 3\r\n\r\n"\xff"`,
      `${head}webhook-id: a\r\nwebhook-id: b\r\ncontent-length: 2\r\n\r\n{}`,
    ]
    for (const one of broken) {
      const answer = await raw(Buffer.from(one, 'latin1'))
      expect(answer, JSON.stringify(one)).toMatch(/^HTTP\/1\.1 4\d\d [^]*application\/problem\+json/)
    }
    const bodies = [
      '',
      '{',
      '['.repeat(200_000),
      `${'['.repeat(101)}${']'.repeat(101)}`,
      Buffer.from([0x22, 0xff, 0x22]),
      '{"a":1}{"b":2}',
      'undefined',
      '\u0000{}',
    ]
    for (const body of bodies) expect((await deliver(url, body)).status).toBe(400)
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const reply = await deliver(url, Buffer.from(bytes))
        const isJson = (() => {
          try {
            JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
            return true
          } catch {
            return false
          }
        })()
        expect(reply.status).toBe(isJson ? 202 : 400)
      }),
      { numRuns: 60 },
    )
    const polluted = receipt(
      await deliver(url, '{"__proto__":{"enabled":false},"constructor":{"prototype":{"x":1}}}'),
    )
    expect((await mesh.run(polluted.run_id ?? '')).input).toMatchObject({
      message: expect.stringContaining('"__proto__"'),
    })
    const rows = await deliveries(hook)
    expect(rows.filter((row) => row.run_id !== null).every((row) => row.state === 'accepted')).toBe(true)
    expect(rows.some((row) => row.state === 'refused' && row.count > 1)).toBe(true)
  })

  it('invalid deliveries are distinguished from hooks that are off, archived or unknown', async () => {
    heedsLesson(81)
    const { hook, secret, url } = await aHook()
    const signed = (body: string) => deliver(url, body, { [headerNames.webhookSignature]: hex(secret, body) })
    const params = { id: hook.id }
    await mesh.call(webhookEndpoints.webhookChange, { params, body: { enabled: false } })
    expectProblem(await signed('1'), 'webhook-disabled')
    await mesh.call(webhookEndpoints.webhookChange, { params, body: { enabled: true } })
    expect((await signed('1')).status).toBe(202)
    await mesh.call(webhookEndpoints.webhookDelete, { params })
    const gone = await signed('1')
    const never = await deliver(`${mesh.url}/webhook/hook/hook_0000000000000000`, '1')
    expectProblem(gone, 'not-found')
    const shape = (reply: Reply) => ({ ...reply.json(), request_id: '' })
    expect(shape(gone)).toEqual(shape(never))
    expect(await readFile(join(mesh.home, '.env'), 'utf8')).not.toContain(secret)
    await mesh.createWorker('retired')
    const other = await aHook({ agent_id: 'retired', signed: false })
    expect((await cli('archive', 'retired')).code).toBe(0)
    const refused = await deliver(other.url, '{}')
    expectProblem(refused, 'agent-archived')
    expect(refused.text).not.toContain('retired')
  })
})

describe('a person at the terminal', () => {
  it('a person at the terminal sees hooks and deliveries, gives one again and rotates a secret', async () => {
    const { hook, secret, url } = await aHook()
    const first = receipt(
      await deliver(url, '{"n":1}', { [headerNames.webhookSignature]: hex(secret, '{"n":1}') }),
    )
    await mesh.ended(first.run_id ?? '')
    await deliver(url, '{"n":1}', { [headerNames.webhookSignature]: hex('wrong', '{"n":1}') })
    const list = await cli('webhooks', 'list')
    expect(list.out).toMatch(new RegExp(`${hook.id} +builds +clerk +yes +1 +0 +1 `))
    const [refused, accepted] = await deliveries(hook)
    const shown = await cli('webhooks', 'deliveries', hook.id)
    expect(shown.out).toMatch(new RegExp(`${accepted?.delivery} .* accepted +7 +${first.run_id} +done`))
    expect(shown.out).toContain('the signature does not match any secret of this webhook')
    const notKept = { params: { id: hook.id, delivery: `${refused?.delivery}` } }
    expectProblem(await mesh.call(webhookEndpoints.webhookReplay, notKept), 'conflict')
    const replayed = await cli('webhooks', 'replay', hook.id, `${accepted?.delivery}`, '--json')
    const again = JSON.parse(replayed.out) as DeliveryView
    expect(again).toMatchObject({ way: 'replay', replay_of: accepted?.delivery })
    const ended = await mesh.ended(again.run_id ?? '')
    expect(ended.input).toMatchObject({
      message: expect.stringMatching(/given again by the owner[^]*"n": 1/),
    })
    const rotated = await cli('webhooks', 'rotate', hook.id, '--overlap-hours', '1')
    const fresh = /shown this once: (whsec_\S+)/.exec(rotated.out)?.[1] ?? ''
    for (const [key, body] of [
      [secret, '2'],
      [fresh, '3'],
    ] as const) {
      expect(
        (await deliver(url, body, { [headerNames.webhookSignature]: hex(key, body) })).status,
        body,
      ).toBe(202)
    }
  })
})

describe('a mesh that is killed while deliveries come', () => {
  it('a mesh that is killed while deliveries come has for every answered one its row and its run, no half of any, and knows each when it is sent again', async () => {
    const signed = await aHook()
    const { hook, url } = await aHook({ signed: false })
    const answered = new Map<string, string>()
    const send = async (id: string): Promise<Reply | null> =>
      deliver(url, `{"id":"${id}"}`, { [headerNames.webhookId]: id }).catch(() => null)
    const ids = Array.from({ length: 40 }, (_, at) => `msg_${at}`)
    const killed: Promise<void>[] = []
    const sending = ids.map(async (id) => {
      const reply = await send(id)
      if (reply?.status === 202) answered.set(id, receipt(reply).run_id ?? '')
      // The mesh is killed in the middle of the deliveries, however fast the machine is.
      if (answered.size >= 5 && killed.length === 0) killed.push(mesh.kill9())
    })
    await Promise.all(sending)
    await Promise.all(killed)
    await mesh.restart()
    const proof = { [headerNames.webhookSignature]: hex(signed.secret, '{}') }
    expect((await deliver(signed.url, '{}', proof)).status).toBe(202)
    expectProblem(await deliver(signed.url, '{}'), 'signature-refused')
    const rows = (await deliveries(hook)).filter((row) => row.state === 'accepted')
    expect(new Set(rows.map((row) => row.sender_id)).size).toBe(rows.length)
    for (const row of rows) expect((await mesh.run(row.run_id ?? '')).origin.user).toBe(hook.id)
    const made = (await mesh.runs(500)).filter((one) => one.origin.user === hook.id)
    expect(made.map(({ id }) => id).toSorted()).toEqual(rows.map((row) => row.run_id ?? '').toSorted())
    for (const [id, runId] of answered) {
      const reply = await send(id)
      expect(reply && receipt(reply), id).toEqual({ status: 'accepted', run_id: runId, duplicate: true })
    }
    for (const row of rows) await mesh.ended(row.run_id ?? '')
    await eventually('the history says how each ended', async () =>
      (await deliveries(hook)).every((row) => row.state !== 'accepted' || row.outcome === 'done'),
    )
  })
})

describe('a body that was overheard', () => {
  it('a body that was overheard is the delivery of then a day later and after a kill, until its owner lets repetitions in', async () => {
    const { hook, secret, url } = await aHook()
    const body = '{"deploy":"now"}'
    const send = (id: string) =>
      deliver(url, body, { 'x-hub-signature-256': `sha256=${hex(secret, body)}`, 'x-github-delivery': id })
    const first = receipt(await send('guid-1'))
    expect(first.duplicate).toBe(false)
    await mesh.ended(first.run_id ?? '')
    await mesh.kill9()
    const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'))
    // Simulates that a day has passed and the row has left the history.
    database.exec('UPDATE webhook_bodies SET at = at - 86400000')
    database.prepare('DELETE FROM webhook_deliveries WHERE hook_id = ?').run(hook.id)
    database.close()
    await mesh.restart()
    const now = `${mesh.url}${hook.path}`
    const again = await deliver(now, body, {
      'x-webhook-signature': hex(secret, body),
      'webhook-id': 'guid-2',
    })
    expect(receipt(again)).toEqual({ status: 'accepted', run_id: null, duplicate: true })
    const changed = await mesh.call(webhookEndpoints.webhookChange, {
      params: { id: hook.id },
      body: { repeats: 'accept' },
    })
    expect(webhookApi.webhookChange.response.parse(changed.json()).repeats).toBe('accept')
    const meant = receipt(await deliver(now, body, { 'x-webhook-signature': hex(secret, body) }))
    expect(meant.duplicate).toBe(false)
    await mesh.ended(meant.run_id ?? '')
    const wrong = { params: { id: hook.id }, body: { repeats: 'sometimes' } }
    expectProblem(await mesh.call(webhookEndpoints.webhookChange, wrong), 'bad-request')
    expect((await cli('webhooks', '--help')).out).toContain('--accept-repeats')
  })
})
