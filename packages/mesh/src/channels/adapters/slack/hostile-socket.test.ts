import { afterEach, describe, expect, test, vi } from 'vitest'
import { slackTokens, startSlackWorkspace } from '../../../../../../tests/support/slack-workspace.ts'
import type { SlackWorkspace } from '../../../../../../tests/support/slack-workspace.ts'
import { noProxies } from '../../../config/index.ts'
import { createSecret } from '../../../credentials/index.ts'
import { systemClock } from '../../../platform/index.ts'
import { heardBy } from '../../../testing/heard-by.ts'
import { gatewayLimits } from '../gateway-packet.ts'
import { createSlackAdapter } from './index.ts'

const envelope = (fields: object) => JSON.stringify({ envelope_id: 'x1', ...fields })
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`

/** Each of these, given to Slack's client as it is, ends the process, or holds the mesh up, or is not a packet at all. */
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
  'more values than anybody reads': `{"type":"events_api","envelope_id":"x","payload":[${'0,'.repeat(600_000)}0]}`,
  bytes: new Uint8Array([1, 2, 3]),
}

/** These are acknowledged, and nothing of them is heard. The client would emit events of its own under their names. */
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

/** The machine may have other work. */
const until = (holds: () => void) => vi.waitFor(holds, { timeout: 10_000 })

describe('a socket that means harm', () => {
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
    return { workspace, ...heardBy(adapter), say }
  }

  test('what is no packet is left out and told, and what comes behind it is heard over the same line', async () => {
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

  test('an envelope of another kind or form is acknowledged, and no event of the client itself', async () => {
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

  test('a packet that is too long ends its line, and the next one hears', async () => {
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
  ])('an answer that is too %s is no answer', async (_name, answer) => {
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
