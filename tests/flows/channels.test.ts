import { existsSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { channelEndpoints, channelsApi } from '@flotilla/protocol/channels-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { aWebhookPlatform } from '../support/webhook-platform.ts'

const preload = pathToFileURL(join(repositoryRoot, 'tests', 'support', 'kill-at-row.mjs')).href
const answer = 'The report is written.'
const cassette = aCassette({ agents: ['clerk'], when: '^report', turns: [says(answer)] })

let platform: Awaited<ReturnType<typeof aWebhookPlatform>>
let mesh: MeshProcess
let arm: string

beforeAll(async () => {
  platform = await aWebhookPlatform()
  arm = join(await mkdtemp(join(tmpdir(), 'arm-')), 'armed')
  mesh = await startMesh({
    cassettes: { channels: cassette },
    settings: { channels: { per_minute: 600, webhook: { url: platform.url } } },
    environment: {
      FLOTILLA_SYSTEM_CHANNEL_WEBHOOK_SECRET: platform.secret,
      NODE_OPTIONS: `--import=${preload}`,
      KILL_WHEN_ARMED: arm,
    },
  })
  await mesh.createWorker('clerk')
})
afterAll(async () => {
  await mesh?.stop()
  await platform?.close()
})

const home = () => ({ url: mesh.url, home: mesh.home })

/** As a sender by the standard does: again until it is taken. */
async function say(id: string, said: object): Promise<void> {
  await eventually(`${id} is taken`, async () => {
    const reply = await platform.deliver(mesh.url, id, said).catch(() => null)
    return reply !== null && reply.status === 202
  })
}

/** Starts the mesh again where it was killed. */
async function standUpOnceKilled(): Promise<void> {
  await eventually('the mesh is killed', () => !existsSync(arm))
  await mesh.kill9().catch(() => undefined)
  await mesh.restart()
}

describe('a channel', () => {
  it('is listed with its state, pairs by a code from the terminal, and refuses whom nobody knows', async () => {
    const reply = await mesh.call(channelEndpoints.channels)
    expect(channelsApi.channels.response.parse(reply.json()).channels).toContainEqual({
      name: 'webhook',
      state: 'connected',
      detail: '',
      repair: '',
      people: 0,
      linked: [],
      pairing: null,
      credentials: [{ name: 'channel_webhook_secret', kept: 'environment' }],
      waiting: 0,
    })
    expect(await flotilla(home(), 'channels')).toMatchObject({
      code: 0,
      out: expect.stringContaining('connected'),
    })
    await say('stranger-1', { conversation: 'first', text: 'hello' })
    await say('stranger-2', { conversation: 'first', text: 'hello?' })
    await eventually('the stranger is told', () => platform.in('first').length > 0)
    expect(platform.in('first').map(({ text }) => text)).toEqual([
      expect.stringContaining('flotilla people link NAME webhook:intranet:ann'),
    ])
    const printed = await flotilla(home(), 'channels', 'pair', 'webhook')
    const code = /^[A-Z2-9]{8}$/m.exec(printed.out)?.[0] ?? ''
    await say('pairing', { conversation: 'first', text: code })
    await eventually('the owner is known', () =>
      platform.in('first').some(({ text }) => text.includes('You are owner')),
    )
    expect((await flotilla(home(), 'people')).out).toContain('webhook:intranet:ann')
  })

  it('answers where it was asked, in the person’s name, and marks the outcome as told', async () => {
    await say('use', { conversation: 'second', text: '/use clerk' })
    await say('ask', { conversation: 'second', text: 'report to me' })
    await eventually('the answer is shown', () =>
      platform.in('second').some(({ text }) => text.includes(answer)),
    )
    const ledger = openLedger(mesh.home)
    try {
      const [run] = ledger.rows(
        "SELECT id, origin FROM runs WHERE json_extract(origin, '$.channel') = 'webhook'",
      )
      expect(JSON.parse(String(run?.['origin']))).toMatchObject({
        kind: 'human',
        channel: 'webhook',
        user: 'owner',
      })
      await eventually('the note is delivered', () => {
        const [note] = ledger.rows('SELECT state FROM outbox WHERE run_id = ?', String(run?.['id']))
        return note?.['state'] === 'delivered'
      })
    } finally {
      ledger.close()
    }
  })

  it('takes nothing that is not signed, and is nothing where it is off', async () => {
    const forged = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
    expect((await fetch(`${mesh.url}/channel/webhook`, forged)).status).toBe(401)
    expect((await fetch(`${mesh.url}/channel/telegram`, forged)).status).toBe(404)
    expect((await fetch(`${mesh.url}/channel/__proto__`, forged)).status).toBe(404)
  })
})

describe('a mesh that is killed between any two steps', () => {
  const messageRow = 'INSERT OR IGNORE INTO channel_messages'
  const letterRow = 'INSERT OR IGNORE INTO channel_letters'
  const begun = 'UPDATE channel_letters SET begun_piece = ?, attempts'
  const out = 'UPDATE channel_letters SET pieces_out'
  const settled = 'UPDATE channel_letters SET state'
  const delivered = "UPDATE outbox SET state = 'delivered'"

  it.each([
    ['received, and no row written', `before ${messageRow}`],
    ['the row written, and not acknowledged', `after ${messageRow}`],
    ['answered, and no letter written', `before ${letterRow}`],
    ['the letter written, and nothing sent', `after ${letterRow}`],
    ['a piece begun, and not sent', `after ${begun}`],
    ['sent, and not written that it is', `before ${out}`],
    ['written that it is sent, and not settled', `after ${out}`],
    ['settled, and the outcome not marked', `before ${delivered}`],
    ['marked, and not committed', `before ${settled}`],
    ['all over', `after ${settled}`],
  ])('%s: the answer is there once', async (step, moment) => {
    const conversation = step
    await writeFile(arm, moment)
    const saying = say(step.replaceAll(' ', '-'), { conversation, text: '@clerk report again' })
    await standUpOnceKilled()
    await saying
    const answers = () => platform.in(conversation).filter(({ text }) => text.includes(answer))
    await eventually('the answer is shown', () => answers().length > 0)
    const ledger = openLedger(mesh.home)
    try {
      await eventually(
        'nothing is to be told any more',
        () => ledger.rows("SELECT id FROM channel_letters WHERE state = 'open'").length === 0,
      )
      const rows = ledger.rows(
        'SELECT run_id FROM channel_messages WHERE message_id = ?',
        step.replaceAll(' ', '-'),
      )
      expect(rows).toHaveLength(1)
      expect(
        ledger.rows(
          'SELECT run_id FROM channel_runs WHERE json_extract(place, ?) = ?',
          '$.conversationId',
          conversation,
        ),
      ).toEqual(rows)
      expect(
        ledger.rows('SELECT state FROM outbox WHERE run_id = ?', String(rows[0]?.['run_id'])),
      ).toMatchObject([{ state: 'delivered' }])
    } finally {
      ledger.close()
    }
    expect(platform.in(conversation).map(({ text }) => text)).toEqual([expect.stringContaining(answer)])
  })

  it('while the platform answers: what it has already is not shown twice', async () => {
    let killed = false
    platform.onEvent(async ({ conversation }) => {
      if (conversation !== 'held' || killed) return
      killed = true
      await mesh.kill9()
    })
    await say('held', { conversation: 'held', text: '@clerk report once more' })
    await eventually('the mesh is killed', () => killed)
    platform.onEvent(null)
    await mesh.kill9().catch(() => undefined)
    await mesh.restart()
    const ledger = openLedger(mesh.home)
    try {
      await eventually(
        'the letter is settled',
        () => ledger.rows("SELECT id FROM channel_letters WHERE state = 'open'").length === 0,
      )
    } finally {
      ledger.close()
    }
    expect(platform.in('held').map(({ text }) => text)).toEqual([expect.stringContaining(answer)])
  })
})
