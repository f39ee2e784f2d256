import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { channelEndpoints, channelsApi } from '@flotilla/protocol/channels-api'
import type { ChannelView } from '@flotilla/protocol/channels-api'
import type { ChannelName } from '@flotilla/protocol/people'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { playTelegram, playedTelegramPlaces } from '../../packages/mesh/src/testing/played-telegram.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla, flotillaWith } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { cliProgram } from '../support/programs.ts'
import { runAtTerminal } from '../support/pty-screen.ts'

const token = '777:secret-part'
const answer = 'Nothing new.'

let telegram: Awaited<ReturnType<typeof playTelegram>>
let mesh: MeshProcess

beforeAll(async () => {
  telegram = await playTelegram()
  mesh = await startMesh({
    cassettes: { day: aCassette({ agents: ['clerk'], when: '.', turns: [says(answer)] }) },
    settings: { channels: { per_minute: 600, telegram: { api_url: telegram.root } } },
  })
  await mesh.createWorker('clerk')
})
afterAll(async () => {
  await mesh?.stop()
  await telegram?.close()
})

const home = () => ({ url: mesh.url, home: mesh.home })
const alone = playedTelegramPlaces.alone
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

describe('a channel that is added', () => {
  it('keeps no token that the platform does not know, and says so', async () => {
    telegram.acceptToken(false)
    const refused = await flotillaWith({ ...home(), input: `${token}\n` }, 'channels', 'add', 'telegram')
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('Telegram does not accept') })
    expect(refused.out + refused.err).not.toContain('secret-part')
    expect(await envFile()).not.toContain('TELEGRAM')
    expect(await view('telegram')).toMatchObject({ state: 'off' })
    telegram.acceptToken(true)
  })

  it.each([
    ['telegram', 'no token\n', /not of the expected form/],
    ['telegram', '', /telegram needs telegram_bot_token/],
    ['slack', 'a\nb\nc\n', /more lines than slack has credentials/],
    ['webhook', '', /--answers-to URL/],
    ['irc', '', /Choose one of telegram, discord/],
  ])(
    '%s asks nothing where there is no terminal, and tells what is missing: %j',
    async (name, input, words) => {
      const refused = await flotillaWith({ ...home(), input }, 'channels', 'add', name)
      expect(refused.code).not.toBe(0)
      expect(refused.err).toMatch(words)
    },
  )

  it('asks at a terminal without showing, pairs while it waits, and is on without a new start', async () => {
    const words = [process.execPath, cliProgram, 'channels', 'add', 'telegram', '--url', mesh.url]
    const program = runAtTerminal(words, { columns: 100, home: mesh.home })
    try {
      await program.shows(/^Token of the bot:/)
      program.type(`${token}\r`)
      await program.shows(/telegram is on, as @fleet_bot/)
      await program.shows(/Waiting for the code on telegram/)
      const code = program.rows().find((row) => /^[A-Z2-9]{8}$/.test(row)) ?? ''
      say('AAAAAAAA')
      await program.shows(/1 wrong code came on telegram/)
      say(code)
      await program.shows(/You are known on telegram: owner \(telegram:1000\)/)
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
  })

  it('is shown with its people, and asks no second time for who is known', async () => {
    expect((await flotilla(home(), 'channels')).out).toMatch(/telegram\s+connected\s+owner/)
    const again = await flotillaWith(
      { ...home(), input: `FLOTILLA_SYSTEM_TELEGRAM_BOT_TOKEN=${token}\n` },
      'channels',
      'add',
      'telegram',
    )
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining('An owner is known there already') })
  })

  it('is off at once when it is removed, and forgets its token; on again it hears again', async () => {
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
    await flotillaWith({ ...home(), input: `${token}\n` }, 'channels', 'add', 'telegram')
    await eventually('what was said meanwhile is answered', () => answers() === answered + 1)
  })

  it('makes what nobody gives, and shows it once', async () => {
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
})
