import { afterEach, describe, expect, test, vi } from 'vitest'
import { slackTokens, startSlackWorkspace } from '../../../../../../tests/support/slack-workspace.ts'
import type { SlackWorkspace } from '../../../../../../tests/support/slack-workspace.ts'
import { noProxies } from '../../../../../foundation/src/config/index.ts'
import { createSecret } from '../../../../../egress/src/credentials/index.ts'
import { systemClock } from '../../../../../foundation/src/platform/index.ts'
import { recordReceived } from '../../../../../testing/src/record-received.ts'
import { gatewayLimits } from '../gateway-packet.ts'
import { createSlackAdapter } from './index.ts'

const envelope = (fields: object) => JSON.stringify({ envelope_id: 'x1', ...fields })
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`

/** Each of these packets ends the process or blocks the mesh if Slack's client gets it, or is not a packet at all. */
const leftOut: Readonly<Record<string, string | Uint8Array>> = {
  'no JSON': 'hello',
  'half of it': '{"type":"events_api",',
  'nothing at all': 'null',
  'a number': '7',
  'a list': '[1,2]',
  'no kind': '{}',
  'a kind that is no word': envelope({ type: 7, payload: {} }),
  'an envelope that cannot be acknowledged': JSON.stringify({ type: 'events_api', payload: {} }),
  'an envelope whose name is a book': envelope({
    type: 'events_api',
    envelope_id: 'x'.repeat(gatewayLimits.nameMaxChars + 1),
  }),
  'an envelope whose name is a list': envelope({ type: 'events_api', envelope_id: [1] }),
  'a text that is nested without end': `{"type":"events_api","envelope_id":"x","payload":${deep}}`,
  'more values than the limit': `{"type":"events_api","envelope_id":"x","payload":[${'0,'.repeat(600_000)}0]}`,
  bytes: new Uint8Array([1, 2, 3]),
}

/** These are acknowledged and ignored. The client would emit its own events under their names. */
const heardAsNothing: readonly object[] = [
  { type: 'events_api' },
  { type: 'events_api', payload: null },
  { type: 'events_api', payload: { event: null } },
  { type: 'events_api', payload: { team_id: 'T0', event: { type: 'disconnected' } } },
  { type: 'events_api', payload: { team_id: 'T0', event: { type: 'close' } } },
  { type: 'events_api', payload: { team_id: 'T0', event: { type: 'ws_message' } } },
  { type: 'events_api', payload: { team_id: 'T0', event: { type: 'slack_event' } } },
  { type: 'disconnected', payload: {} },
  { type: 'close', payload: {} },
  { type: 'error', payload: {} },
  { type: 'ws_message', payload: {} },
  { type: 'slack_event', payload: {} },
  { type: '__proto__', payload: {} },
  { type: 'slash_commands', payload: { command: 7 } },
  { type: 'interactive', payload: { type: 'block_actions', actions: 'x' } },
]

/** Allows for a busy machine. */
const until = (holds: () => void) => vi.waitFor(holds, { timeout: 10_000 })

describe('a hostile socket', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  async function opened(prepare: (workspace: SlackWorkspace) => void = () => {}) {
    const workspace = await startSlackWorkspace()
    closing.push(workspace.close)
    prepare(workspace)
    const adapter = createSlackAdapter({
      botToken: createSecret('slack_bot_token', slackTokens.bot),
      appToken: createSecret('slack_app_token', slackTokens.app),
      clock: systemClock,
      proxies: noProxies,
      apiUrl: workspace.apiUrl,
      fetch: workspace.fetch,
    })
    closing.push(adapter.close)
    const say = (text: string) =>
      workspace.platform.say({ place: workspace.places.alone, text, by: 'person', addressed: true })
    return { workspace, ...recordReceived(adapter), say }
  }

  test('Slack: an invalid packet is dropped and reported, and the next one arrives over the same connection', async () => {
    const { workspace, heard, states, starting, say } = await opened()
    await starting
    for (const [name, hostile] of Object.entries(leftOut)) {
      states.length = 0
      workspace.sendRaw(hostile)
      await until(() => expect(states, name).toMatchObject([{ state: 'connected' }]))
      expect(states[0]?.detail, name).toMatch(/^a packet of Slack was dropped: it /)
      await say(name)
      await until(() => expect(heard.at(-1)?.text).toBe(name))
    }
    expect(workspace.connections()).toBe(1)
  })

  test('Slack: an envelope of another type or form is acknowledged and causes no event of the client', async () => {
    const { workspace, heard, starting, say } = await opened()
    await starting
    for (const [index, hostile] of heardAsNothing.entries()) {
      workspace.sendRaw(envelope({ envelope_id: `hostile${index}`, ...hostile }))
      await until(() => expect(workspace.platform.isTaken(`hostile${index}`)).toBe(true))
    }
    await say('there still')
    await until(() => expect(heard.map(({ text }) => text)).toEqual(['there still']))
    expect(workspace.connections()).toBe(1)
  })

  test('Slack: a packet above the limit ends its connection, and the next connection works', async () => {
    const { workspace, heard, states, starting, say } = await opened()
    await starting
    workspace.sendRaw(`"${'x'.repeat(gatewayLimits.packetMaxBytes + 1024)}"`)
    await until(() => expect(workspace.connections()).toBe(2))
    await until(() => expect(states.at(-1)).toEqual({ state: 'connected', detail: '', repair: '' }))
    await say('there again')
    await until(() => expect(heard.at(-1)?.text).toBe('there again'))
  })

  test.each([
    ['deep', deep],
    ['long', `"${'x'.repeat(17 * 1024 * 1024)}"`],
  ])('Slack: a response that is too %s is rejected', async (_name, answer) => {
    const { states } = await opened(({ answerNext }) =>
      answerNext('auth.test', (response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
      }),
    )
    await until(() =>
      expect(states.at(-1)).toMatchObject({
        state: 'failing',
        detail: 'Slack sent a response that is too large',
      }),
    )
  })
})
