import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { channelEndpoints, channelsApi } from '@flotilla/protocol/channels-api'
import type { ChannelView } from '@flotilla/protocol/channels-api'
import type { ChannelName } from '@flotilla/protocol/people'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFakeTelegram, fakeTelegramPlaces } from '../../packages/testing/src/fake-telegram.ts'
import {
  callbackEntry,
  callbackOf,
  fakeWhatsApp,
  startFakeGraph,
  signedCallback,
} from '../../packages/testing/src/fake-whatsapp.ts'
import type { FakeGraph } from '../../packages/testing/src/fake-whatsapp.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { personOnDiscord, personOnSlack, walkCommands } from '../support/command-walk.ts'
import type { KnownSomewhere } from '../support/command-walk.ts'
import { discordToken, startDiscordServer } from '../support/discord-server.ts'
import type { DiscordServer } from '../support/discord-server.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { httpCall } from '../support/http-call.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { cliProgram } from '../support/programs.ts'
import { runAtTerminal } from '../support/pty-screen.ts'
import { slackTokens, startSlackWorkspace } from '../support/slack-workspace.ts'
import type { SlackWorkspace } from '../support/slack-workspace.ts'
import { verifies } from '../verifies.ts'

const token = '777:secret-part'
const answer = 'Nothing new.'

let telegram: Awaited<ReturnType<typeof startFakeTelegram>>
let discord: DiscordServer
let slack: SlackWorkspace
let graph: FakeGraph
let mesh: MeshProcess

beforeAll(async () => {
  ;[telegram, discord, slack, graph] = await Promise.all([
    startFakeTelegram(),
    startDiscordServer(),
    startSlackWorkspace(),
    startFakeGraph(),
  ])
  mesh = await startMesh({
    cassettes: { day: aCassette({ agents: ['clerk'], when: '.', turns: [says(answer)] }) },
    settings: {
      channels: {
        per_minute: 600,
        telegram: { api_url: telegram.root },
        discord: { api_url: discord.api },
        slack: { api_url: slack.apiUrl },
        whatsapp: { api_url: graph.root },
      },
    },
  })
  await mesh.createWorker('clerk')
})
afterAll(async () => {
  await mesh?.stop()
  await Promise.all([telegram, discord, slack, graph].map((one) => one?.close()))
})

const appSecret = 'ab'.repeat(16)
const credentialsOf = {
  discord: [discordToken],
  slack: [slackTokens.bot, slackTokens.app],
  whatsapp: ['EAA-of-this-test', fakeWhatsApp.phoneNumberId, appSecret],
} as const

/** A person in a direct conversation with the bot, who gives commands in the platform's own way. */
function personOn(name: keyof typeof credentialsOf): KnownSomewhere {
  switch (name) {
    case 'discord':
      return personOnDiscord(discord)
    case 'slack':
      return personOnSlack(slack)
    case 'whatsapp':
      return {
        say: (text) => callBack(text),
        command: (command, argument) => callBack(`/${command} ${argument}`),
        press: (value) =>
          callBack('', { type: 'interactive', interactive: { list_reply: { id: value, title: value } } }),
        shown: graph.shown,
      }
  }
}

/** Commands as Telegram names them. */
const personOnTelegram: KnownSomewhere = {
  say: (text) => say(text),
  command: (name, argument) => say(`/${name} ${argument}`),
  press: (value) =>
    telegram.push({
      callback_query: {
        id: `press ${value}`,
        from: { id: 1000, is_bot: false, first_name: 'Ann' },
        message: { message_id: 1, date: 0, chat: { id: 1000, type: 'private' } },
        data: value,
      },
    }),
  shown: () => telegram.shown(),
}

let callBacks = 0

/** Sends as Meta does: repeatedly, until the callback is accepted. */
async function callBack(text: string, more: object = {}): Promise<void> {
  const { headers, body } = signedCallback(
    callbackOf(callbackEntry([{ id: `wamid.${++callBacks}`, text, more }])),
    appSecret,
  )
  await eventually(`${text} is taken`, async () => {
    const url = `${mesh.url}/channel/whatsapp`
    return (await httpCall({ method: 'POST', url, body: Buffer.from(body), headers })).status === 200
  })
}

const home = () => ({ url: mesh.url, home: mesh.home })
const alone = fakeTelegramPlaces.alone
const say = (text: string) => telegram.say({ place: alone, text, by: 'person', addressed: true })
const told = (words: string) => telegram.shown().some(({ text }) => text.includes(words))
const envFile = () => readFile(join(mesh.home, '.env'), 'utf8').catch(() => '')

async function view(name: ChannelName): Promise<ChannelView | undefined> {
  const reply = await mesh.call(channelEndpoints.channels)
  return channelsApi.channels.response.parse(reply.json()).channels.find((one) => one.name === name)
}

function journal(action: string): readonly Record<string, unknown>[] {
  const ledger = openLedger(mesh.home)
  try {
    return ledger.rows('SELECT actor, subject, detail FROM journal WHERE action = ?', action)
  } finally {
    ledger.close()
  }
}

/** The short tests give the commands only on the platform that has a single slash command. */
const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const walked = 'slack'

describe('a channel that is added', () => {
  it('a channel that is added keeps no token that the platform does not know, and says so', async () => {
    telegram.acceptToken(false)
    const refused = await flotilla({ ...home(), input: `${token}\n` }, 'channels', 'add', 'telegram')
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('Telegram does not accept') })
    expect(refused.out + refused.err).not.toContain('secret-part')
    expect(await envFile()).not.toContain('TELEGRAM')
    expect(await view('telegram')).toMatchObject({ state: 'off' })
    telegram.acceptToken(true)
  })

  it.each([
    ['telegram', 'no token\n', /not have the expected form/],
    ['telegram', '', /telegram needs telegram_bot_token/],
    ['slack', 'a\nb\nc\n', /more lines than slack has credentials/],
    ['webhook', '', /--answers-to URL/],
    ['irc', '', /Choose one of telegram, discord/],
  ])(
    '%s asks nothing where there is no terminal, and tells what is missing: %j',
    async (name, input, words) => {
      const refused = await flotilla({ ...home(), input }, 'channels', 'add', name)
      expect(refused.code).not.toBe(0)
      expect(refused.err).toMatch(words)
    },
  )

  it('a channel that is added asks at a terminal without showing, pairs while it waits, and is on without a new start', async () => {
    verifies('purpose:chat-mode:four-platforms')
    const words = [process.execPath, cliProgram, 'channels', 'add', 'telegram', '--url', mesh.url]
    const program = runAtTerminal(words, { columns: 100, home: mesh.home })
    try {
      await program.shows(/^Token of the bot:/)
      program.type(`${token}\r`)
      await program.shows(/telegram is on, as @fleet_bot/)
      await program.shows(/Waiting for the code on telegram/)
      const code = program.rows().find((row) => /^[A-Z2-9]{8}$/.test(row)) ?? ''
      say('AAAAAAAA')
      await program.shows(/1 wrong code received on telegram/)
      say(code)
      await program.shows(/You are paired on telegram: owner \(telegram:1000\)/)
      expect(program.rows().join('\n')).not.toContain('secret-part')
    } finally {
      program.kill()
    }
    expect(await envFile()).toContain(`FLOTILLA_SYSTEM_TELEGRAM_BOT_TOKEN=`)
    expect((await stat(join(mesh.home, '.env'))).mode & 0o777).toBe(0o600)
    expect(journal('channel.added')).toMatchObject([{ actor: 'human:cli', subject: 'telegram' }])
    expect(JSON.stringify(journal('channel.added'))).not.toContain('secret-part')
    expect(await view('telegram')).toMatchObject({
      state: 'connected',
      linked: [{ identity: 'telegram:1000', person: 'owner', role: 'owner' }],
      credentials: [{ name: 'telegram_bot_token', kept: 'file' }],
    })
    say('@clerk anything new?')
    await eventually('the answer is shown', () => told(answer))
    if (isSoak) await walkCommands(personOnTelegram, answer)
  })

  it('a channel that is added is shown with its people, and asks no second time for who is known', async () => {
    expect((await flotilla(home(), 'channels')).out).toMatch(/telegram\s+connected\s+owner/)
    const again = await flotilla(
      { ...home(), input: `FLOTILLA_SYSTEM_TELEGRAM_BOT_TOKEN=${token}\n` },
      'channels',
      'add',
      'telegram',
    )
    expect(again).toMatchObject({
      code: 0,
      out: expect.stringContaining('An owner is already paired on this channel'),
    })
  })

  it('a removed channel is disconnected at once and its token deleted; a channel that is added again receives messages again', async () => {
    const removed = await flotilla(home(), 'channels', 'remove', 'telegram')
    expect(removed).toMatchObject({ code: 0, out: expect.stringContaining('telegram is off') })
    expect(await envFile()).not.toContain('TELEGRAM')
    expect(await view('telegram')).toMatchObject({ state: 'off', credentials: [{ kept: 'none' }] })
    const answers = () => telegram.shown().filter(({ text }) => text.includes(answer)).length
    const answered = answers()
    const polls = () => telegram.calls.filter(({ method }) => method === 'getUpdates').length
    const before = polls()
    say('@clerk is anybody there?')
    expect((await flotilla(home(), 'channels', 'remove', 'telegram')).code).toBe(1)
    expect(polls()).toBe(before)
    await flotilla({ ...home(), input: `${token}\n` }, 'channels', 'add', 'telegram')
    await eventually('what was said meanwhile is answered', () => answers() === answered + 1)
  })

  it('a channel shows its settings and when they were changed in a terminal; settings that are not named stay', async () => {
    const notices = async (...words: string[]) => {
      const { out } = await flotilla(home(), 'channels', 'notices', ...words, '--json')
      return channelsApi.channelNotices.response.parse(JSON.parse(out))
    }
    const first = await notices()
    expect(first).toMatchObject({ to: [], quiet_hours: null })
    expect(await notices('--to', 'telegram, slack', '--quiet-hours', '22:00-07:00')).toEqual({
      to: ['telegram', 'slack'],
      about: first.about,
      quiet_hours: { from: '22:00', to: '07:00' },
    })
    const { out } = await flotilla(home(), 'channels', 'notices', '--about', 'budgets,approvals')
    expect(out).toMatch(/sent to\s+telegram, slack\nabout\s+approvals, budgets\nquiet hours\s+22:00 to 07:00/)
    expect(out).toContain('slack is off. Switch it on with: flotilla channels add slack')
    expect(out).not.toContain('No owner is paired on telegram')
    expect(await notices('--to', 'none', '--quiet-hours', 'none')).toEqual({
      to: [],
      about: ['approvals', 'budgets'],
      quiet_hours: null,
    })
    const settings = JSON.parse(await readFile(join(mesh.home, 'config', 'settings.json'), 'utf8')) as {
      channels: { notices: unknown }
    }
    expect(settings.channels.notices).toMatchObject({ to: [], quiet_hours: null })
  })

  it.each([
    [
      'a channel that there is not',
      ['--to', 'telegrm'],
      /did you mean telegram\?[\s\S]*Name some of telegram, discord/,
    ],
    [
      'a kind that there is not',
      ['--about', 'weather'],
      /--about does not accept weather[\s\S]*notes, approvals, budgets, tasks/,
    ],
    ['nothing at all', ['--to', ''], /--to does not accept an empty name/],
    ['no hours', ['--quiet-hours', '22-7'], /--quiet-hours 22-7 is not a time range[\s\S]*22:00-07:00/],
    ['an hour that there is not', ['--quiet-hours', '24:00-07:00'], /is not a time range/],
    ['hours of no length', ['--quiet-hours', '07:00-07:00'], /is not a time range/],
  ])('adding a channel with %s changes nothing, and names the repair', async (_what, words, told) => {
    const before = await readFile(join(mesh.home, 'config', 'settings.json'), 'utf8')
    const refused = await flotilla(home(), 'channels', 'notices', ...words)
    expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(told) })
    expect(await readFile(join(mesh.home, 'config', 'settings.json'), 'utf8')).toBe(before)
  })

  it('doctor reports a channel that is not connected, with the repair', async () => {
    const found = async () => {
      const { out } = await flotilla(home(), 'doctor', '--json')
      const { findings } = JSON.parse(out) as { findings: { id: string; detail: string; repair: string }[] }
      return findings.filter(({ id }) => id === 'channel')
    }
    expect(await found()).toEqual([])
    telegram.conflict(1000)
    await eventually('the conflict is known', async () => (await view('telegram'))?.state === 'failing')
    expect(await found()).toMatchObject([
      {
        detail: 'telegram: another program receives the messages of the same bot',
        repair: expect.stringContaining('Stop the other program'),
      },
    ])
    telegram.conflict(0)
    await eventually('it is over', async () => (await view('telegram'))?.state === 'connected')
  })

  it('a missing channel secret is generated and shown once', async () => {
    const added = await flotilla(
      home(),
      'channels',
      'add',
      'webhook',
      '--answers-to',
      'http://127.0.0.1:9/flotilla',
      '--json',
    )
    expect(added.code).toBe(0)
    const reply = JSON.parse(added.out) as { made: Record<string, string>; pairing: { code: string } }
    expect(reply.made['channel_webhook_secret']).toMatch(/^whsec_/)
    expect(reply.pairing.code).toMatch(/^[A-Z2-9]{8}$/)
    expect(await view('webhook')).toMatchObject({ state: 'connected' })
    expect((await flotilla(home(), 'credentials', 'list')).out).not.toContain(
      reply.made['channel_webhook_secret'],
    )
    expect((await flotilla(home(), 'channels', 'remove', 'webhook')).code).toBe(0)
    expect(await readFile(join(mesh.home, 'config', 'settings.json'), 'utf8')).not.toContain('127.0.0.1:9')
  })

  it.each(['discord', 'slack', 'whatsapp'] as const)(
    '%s connects at once, pairs the account that sends the code, and answers its messages',
    async (name) => {
      verifies('purpose:chat-mode:four-platforms')
      const input = `${credentialsOf[name].join('\n')}\n`
      const added = await flotilla({ ...home(), input }, 'channels', 'add', name, '--json')
      expect(added, added.err).toMatchObject({ code: 0 })
      const { code } = (JSON.parse(added.out) as { pairing: { code: string } }).pairing
      // Messages to a Discord bot from before its first connection are in no history.
      await eventually('it is connected', async () => (await view(name))?.state === 'connected')
      const there = personOn(name)
      await there.say(code)
      const isShown = (words: string) => there.shown().some(({ text }) => text.includes(words))
      await eventually('the owner is known', () => isShown('You are owner here'))
      // As a person types the command: Slack delivers no message that begins with an unknown slash command.
      expect(isShown(` ${name === 'slack' ? '/flotilla help' : '/help'} lists`)).toBe(true)
      await there.say('@clerk anything new?')
      await eventually('the answer is shown', () => isShown(answer))
      if (isSoak || name === walked) await walkCommands(there, answer)
      expect(await view(name)).toMatchObject({ state: 'connected', linked: [{ person: 'owner' }] })
      // The channel is removed, so that each platform is tested alone.
      expect((await flotilla(home(), 'channels', 'remove', name)).code).toBe(0)
    },
  )
})
