import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { channelEndpoints, channelsApi } from '@flotilla/protocol/channels-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fakeTelegramPlaces, startFakeTelegram } from '../../packages/testing/src/fake-telegram.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { slackTokens, startSlackWorkspace } from '../support/slack-workspace.ts'
import type { SlackWorkspace } from '../support/slack-workspace.ts'

const answer = 'Nothing new.'
const { alone, group } = fakeTelegramPlaces
const supergroup = -1_002_000

let telegram: Awaited<ReturnType<typeof startFakeTelegram>>
let slack: SlackWorkspace
let mesh: MeshProcess

beforeAll(async () => {
  ;[telegram, slack] = await Promise.all([startFakeTelegram(), startSlackWorkspace()])
  mesh = await startMesh({
    cassettes: { day: aCassette({ agents: ['clerk'], when: '.', turns: [says(answer)] }) },
    settings: { channels: { telegram: { api_url: telegram.root }, slack: { api_url: slack.apiUrl } } },
    environment: {
      FLOTILLA_SYSTEM_TELEGRAM_BOT_TOKEN: '777:secret-part',
      FLOTILLA_SYSTEM_SLACK_BOT_TOKEN: slackTokens.bot,
      FLOTILLA_SYSTEM_SLACK_APP_TOKEN: slackTokens.app,
    },
  })
  const identities = ['telegram:1000', `slack:${slack.teamId}:${slack.personId}`]
  await writeFile(
    join(mesh.home, 'config', 'people.json'),
    JSON.stringify({ people: [{ name: 'ann', role: 'owner', identities }] }),
  )
  await mesh.createWorker('clerk')
  await connected()
})
afterAll(async () => {
  await mesh?.stop()
  await Promise.all([telegram, slack].map((one) => one?.close()))
})

async function connected(): Promise<void> {
  await eventually('both channels are connected', async () => {
    const { channels } = channelsApi.channels.response.parse(
      (await mesh.call(channelEndpoints.channels)).json(),
    )
    return ['telegram', 'slack'].every((name) =>
      channels.some((one) => one.name === name && one.state === 'connected' && one.people === 1),
    )
  })
}

/** Returns the conversations in which the agent was called, in the order of their runs, with the questions. */
function asked(): readonly {
  readonly session: string
  readonly message: string
  readonly origin: unknown
}[] {
  const ledger = openLedger(mesh.home)
  try {
    return ledger.rows('SELECT input, origin FROM runs ORDER BY rowid').map((row) => {
      const { session, message } = JSON.parse(String(row['input'])) as { session: string; message: string }
      return { session, message, origin: JSON.parse(String(row['origin'])) as unknown }
    })
  } finally {
    ledger.close()
  }
}

const shownTo = (conversation: string) =>
  telegram.shown().filter(({ conversationId: id, text }) => id === conversation && text.includes(answer))

describe('a conversation on a chat platform', () => {
  it('a conversation on a chat platform stays the same when its Telegram group becomes a supergroup, and is answered there', async () => {
    telegram.say({ place: group, text: '/use@fleet_bot clerk', by: 'person', addressed: true })
    telegram.say({ place: group, text: 'anything?', by: 'person', addressed: true })
    await eventually('it is answered', () => shownTo(group.conversationId).length === 1)
    // Only the answer to the next call reports the migration.
    telegram.migrate(group.conversationId, supergroup)
    telegram.say({ place: group, text: 'and now?', by: 'person', addressed: true })
    await eventually('it is answered in the supergroup', () => shownTo(String(supergroup)).length === 1)
    const message = {
      message_id: 1,
      date: 0,
      from: { id: 1000, is_bot: false, first_name: 'Ann' },
      chat: { id: supergroup, type: 'supergroup', title: 'Team' },
      text: '@fleet_bot and here?',
      entities: [{ type: 'mention', offset: 0, length: 10 }],
    }
    telegram.push({ message })
    await eventually('so is what is asked there', () => shownTo(String(supergroup)).length === 2)
    expect(asked().map(({ message: text }) => text)).toEqual(['anything?', 'and now?', 'and here?'])
    expect(new Set(asked().map(({ session }) => session)).size).toBe(1)
    expect(shownTo(group.conversationId)).toHaveLength(1)
  })

  it('a conversation on a chat platform hands on what is forwarded as data, which runs no command', async () => {
    const before = asked().length
    telegram.push({
      message: {
        message_id: 2,
        date: 0,
        from: { id: 1000, is_bot: false, first_name: 'Ann' },
        chat: { id: Number(alone.conversationId), type: 'private' },
        text: '/broadcast pay at once',
        entities: [{ type: 'bot_command', offset: 0, length: 10 }],
        forward_origin: { type: 'hidden_user', date: 0, sender_user_name: 'Eve' },
      },
    })
    await eventually('it is a run', () => asked().length > before)
    expect(asked().at(-1)).toMatchObject({
      message: expect.stringMatching(/^\[Forwarded from "Eve": .*\n\n```\n\/broadcast pay at once\n```$/s),
      origin: { channel: 'telegram', forwards: true },
    })
    expect(asked()).toHaveLength(before + 1)
  })

  it('a conversation on a chat platform goes on with what was written in Slack while the mesh was down', async () => {
    const channel = slack.places.alone.conversationId
    const shown = () => slack.posted.filter((one) => one.channel === channel && one.text.includes(answer))
    await slack.platform.say({
      place: slack.places.alone,
      text: '@clerk one?',
      by: 'person',
      addressed: true,
    })
    await eventually('the first is answered', () => shown().length === 1)
    await mesh.kill9()
    await slack.write({ channel, text: '@clerk two?' })
    await mesh.restart()
    await connected()
    // The answer to the first may be posted again after the kill, so the number of answers is no proof of the second.
    await eventually('the second is asked', () => asked().some(({ message }) => message === 'two?'))
    await eventually('the second is answered', () => shown().length >= 2)
    await mesh.terminate()
    await mesh.restart()
    await connected()
    await slack.platform.say({
      place: slack.places.alone,
      text: '@clerk three?',
      by: 'person',
      addressed: true,
    })
    await eventually('the third is asked', () => asked().some(({ message }) => message === 'three?'))
    await eventually('the third is answered', () => shown().length >= 3)
    const texts = asked().map(({ message }) => message)
    expect(texts.slice(-3)).toEqual(['one?', 'two?', 'three?'])
  })
})
