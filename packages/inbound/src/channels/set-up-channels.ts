import { channelFields } from '@flotilla/protocol/channel-fields'
import type { ChannelField } from '@flotilla/protocol/channel-fields'
import type { ChannelNotices, ChannelView } from '@flotilla/protocol/channels-api'
import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { createInTurn } from '@flotilla/protocol/turns'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { Vault } from '@flotilla/egress/credentials'
import type { Kernel } from '@flotilla/identity/kernel'
import type { ChannelValues, CheckTokens } from './adapters/index.ts'
import type { ChannelSwitch } from './channel-switch.ts'
import { requiredChannel } from './required-channel.ts'

/** How long the request that switches on a channel waits for its platform, in milliseconds. */
const answerMaxMs = 10_000

export interface ChannelAdded {
  readonly account: string
  /** Secrets that the mesh generated because the caller gave no secret. */
  readonly made: Readonly<Record<string, string>>
}

export interface ChannelInput {
  readonly name: string
  readonly values: Readonly<Record<string, string>>
  /** For the webhook channel: the URL that receives messages to people. */
  readonly answers_to?: string | undefined
}

export interface SetUpChannels {
  /**
   * Verifies the tokens with the platform, stores them as system credentials and switches the channel on. Values that
   * the caller omits stay unchanged. Throws the Problems `denied`, `human-only`, `not-found`, `unprocessable`,
   * `conflict` for values that the environment sets, and `upstream-failed`.
   */
  add(caller: Caller, input: ChannelInput, signal: AbortSignal): Promise<ChannelAdded>
  /**
   * Switches the channel off and deletes its tokens and waiting letters. Throws Problem `not-found` if nothing is
   * stored.
   */
  remove(caller: Caller, name: string): Promise<{ readonly removed: ChannelName; readonly dropped: number }>
  /** Throws Problem `denied`. */
  setNotices(caller: Caller, notices: ChannelNotices): Promise<ChannelNotices>
  /** Returns the source of each credential of the channel. */
  keptOf(channel: ChannelName): ChannelView['credentials']
}

export function createSetUpChannels(
  { clock, guard, journal, settings }: Pick<Kernel, 'clock' | 'guard' | 'journal' | 'settings'>,
  deps: {
    readonly vault: Pick<Vault, 'system' | 'systemSourceOf' | 'storeSystem' | 'removeSystem'>
    readonly settingsFile: Pick<SettingsFile, 'edit'>
    readonly checkTokens: CheckTokens
    readonly turns: ChannelSwitch
    /** Generates a secret, in `whsec_` form if the channel needs it. */
    readonly makeSecret: (credential: string) => string
    /** Discards the letters that wait for the channel and returns their number. */
    readonly forget: (channel: ChannelName) => number
  },
): SetUpChannels {
  const { vault, settingsFile, turns } = deps
  /** Serializes changes, so that two changes cannot interleave. */
  const inTurn = createInTurn()

  function requireMayChange(caller: Caller, what: string): void {
    guard(caller, { do: 'manage-people' })
    guard(caller, { do: 'manage-credentials' })
    requireAtTerminal(caller, what)
  }

  function requireOurs(channel: ChannelName, names: readonly string[]): void {
    const fixed = names.find((name) => vault.systemSourceOf(name) === 'environment')
    if (fixed === undefined) return
    throw new Problem('conflict', {
      detail: `FLOTILLA_SYSTEM_${fixed.toUpperCase()} is set in the environment of the mesh; change ${channel} there`,
    })
  }

  /** Merges given, stored and generated values. */
  function valuesOf(channel: ChannelName, given: Readonly<Record<string, string>>) {
    const fields = channelFields[channel]
    const unknown = Object.keys(given).find((name) => !fields.some((field) => field.name === name))
    if (unknown !== undefined) {
      throw new Problem('unprocessable', {
        detail: `${channel} has no field ${unknown.slice(0, 64)}; its fields are ${fields.map(({ name }) => name).join(', ')}`,
      })
    }
    const fresh: Record<string, string> = {}
    const made: Record<string, string> = {}
    const all: Record<string, ChannelValues[string]> = {}
    for (const field of fields) {
      const typed = given[field.name]?.trim()
      const kept = vault.system(field.name)
      if (typed !== undefined) fresh[field.name] = required(field, typed)
      else if (kept === undefined && field.give === 'made') made[field.name] = deps.makeSecret(field.name)
      else if (kept === undefined) throw missing(channel, field)
      all[field.name] = fresh[field.name] ?? made[field.name] ?? kept ?? ''
    }
    requireOurs(channel, Object.keys(fresh))
    return { all, made, toKeep: { ...fresh, ...made } }
  }

  function requireAnswersTo(channel: ChannelName, given: string | undefined): void {
    if (channel !== 'webhook') {
      if (given === undefined) return
      throw new Problem('unprocessable', {
        detail: `${channel} does not use --answers-to; only the webhook channel does`,
      })
    }
    if (given !== undefined || settings().channels.webhook !== undefined) return
    throw new Problem('unprocessable', {
      detail: 'the webhook channel has no address to post its messages to',
      repair: 'Name the address: flotilla channels add webhook --answers-to URL',
    })
  }

  async function add(caller: Caller, input: ChannelInput, signal: AbortSignal): Promise<ChannelAdded> {
    const name = requiredChannel(input.name)
    requireAnswersTo(name, input.answers_to)
    const { all, made, toKeep } = valuesOf(name, input.values)
    const given = { channel: name, credentials: Object.keys(toKeep).join(', ') }
    const row = { actor: actorOf(caller), subject: name, detail: given }
    journal.append({ ...row, action: 'channel.checked' })
    const account = await deps.checkTokens(name, all, signal)
    for (const [field, value] of Object.entries(toKeep)) await vault.storeSystem(field, value)
    if (input.answers_to !== undefined) {
      await settingsFile.edit(['channels', 'webhook', 'url'], input.answers_to)
    }
    journal.append({ ...row, action: 'channel.added' })
    await turns.turnOn(name)
    // Waits for the platform, because the response has the connection's state and pairing needs a connected bot.
    const over = new AbortController()
    const late = clock.sleep(answerMaxMs, AbortSignal.any([signal, over.signal])).catch(() => {})
    await Promise.race([turns.find(name)?.answered, late])
    over.abort()
    return { account, made }
  }

  async function remove(caller: Caller, channel: ChannelName) {
    const kept = channelFields[channel]
      .map(({ name }) => name)
      .filter((name) => vault.systemSourceOf(name) !== null)
    if (kept.length === 0) {
      throw new Problem('not-found', {
        detail: `${channel} has no stored credentials`,
        repair: 'List the channels: flotilla channels',
      })
    }
    requireOurs(channel, kept)
    await turns.turnOff(channel)
    for (const name of kept) await vault.removeSystem(name)
    if (channel === 'webhook') await settingsFile.edit(['channels', 'webhook'], undefined)
    const dropped = deps.forget(channel)
    const detail = { channel, credentials: kept.join(', '), dropped }
    journal.append({ actor: actorOf(caller), action: 'channel.removed', subject: channel, detail })
    return { removed: channel, dropped }
  }

  return {
    add: (caller, input, signal) => {
      requireMayChange(caller, 'connect a chat platform')
      return inTurn(() => add(caller, input, signal))
    },
    remove: (caller, name) => {
      requireMayChange(caller, 'remove a channel')
      const channel = requiredChannel(name)
      return inTurn(() => remove(caller, channel))
    },
    setNotices: async (caller, notices) => {
      guard(caller, { do: 'manage-people' })
      await settingsFile.edit(['channels', 'notices'], notices)
      const detail = { to: notices.to, about: notices.about, quiet_hours: hoursOf(notices) }
      journal.append({ actor: actorOf(caller), action: 'channel.notices-set', subject: 'notices', detail })
      return notices
    },
    keptOf: (channel) =>
      channelFields[channel].map(({ name }) => ({ name, kept: vault.systemSourceOf(name) ?? 'none' })),
  }
}

function required(field: ChannelField, value: string): string {
  if (field.form.test(value)) return value
  throw new Problem('unprocessable', {
    detail: `${field.label} does not have the expected form: ${field.formWords}`,
    repair: field.hint,
  })
}

function missing(channel: ChannelName, { name, hint }: ChannelField): Problem {
  return new Problem('unprocessable', { detail: `${channel} needs ${name}`, repair: hint })
}

function hoursOf({ quiet_hours: hours }: ChannelNotices): string {
  return hours === null ? 'none' : `${hours.from} to ${hours.to}`
}
