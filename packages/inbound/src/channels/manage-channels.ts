import type { ChannelNotices, ChannelView } from '@flotilla/protocol/channels-api'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { ChannelLife } from './channel-life.ts'
import type { ChannelSwitch } from './channel-switch.ts'
import type { LetterTable } from './messages/letter-table.ts'
import { howToSwitchOn } from './how-to-switch-on.ts'
import type { PairingCodes } from './pairing/pairing-codes.ts'
import { requiredChannel } from './required-channel.ts'

export interface ManageChannels {
  /** Lists every channel, also channels that are off. Throws Problem `denied`. */
  list(caller: Caller): { readonly channels: readonly ChannelView[]; readonly notices: ChannelNotices }
  viewOf(name: ChannelName): ChannelView
  /** Returns the channels that are on and report an error, for `flotilla doctor`. */
  troubled(): readonly Pick<ChannelView, 'name' | 'state' | 'detail' | 'repair'>[]
  /**
   * Issues a pairing code. The first person who sends it on the platform is linked to the caller. Throws the Problems
   * `denied`, `human-only`, `not-found`, and `conflict` if the channel is off.
   */
  pair(caller: Caller, name: string): { readonly code: string; readonly expires_at: number }
}

export function createManageChannels(
  { guard, journal, settings }: Pick<Kernel, 'guard' | 'journal' | 'settings'>,
  deps: {
    readonly turns: Pick<ChannelSwitch, 'find'>
    readonly letters: Pick<LetterTable, 'openCount'>
    readonly codes: PairingCodes
    readonly linkedOn: (channel: ChannelName) => ChannelView['linked']
    readonly keptOf: (channel: ChannelName) => ChannelView['credentials']
  },
): ManageChannels {
  function viewOf(name: ChannelName): ChannelView {
    const linked = [...deps.linkedOn(name)]
    return {
      name,
      ...stateOf(deps.turns.find(name), howToSwitchOn(name)),
      people: linked.length,
      linked,
      pairing: deps.codes.find(name),
      credentials: deps.keptOf(name),
      waiting: deps.letters.openCount(name),
    }
  }

  return {
    viewOf,
    troubled: () =>
      channelNames.flatMap((name) => {
        const life = deps.turns.find(name)
        return life === null || life.state().detail === '' ? [] : [{ name, ...life.state() }]
      }),
    list: (caller) => {
      guard(caller, { do: 'manage-people' })
      return { channels: channelNames.map(viewOf), notices: settings().channels.notices }
    },
    pair: (caller, name) => {
      guard(caller, { do: 'manage-people' })
      const person = requireAtTerminal(caller, 'pair a channel')
      const channel = requiredChannel(name)
      if (deps.turns.find(channel) === null) {
        throw new Problem('conflict', {
          detail: `the channel ${channel} is switched off. ${howToSwitchOn(channel)}`,
        })
      }
      journal.append({
        actor: actorOf(caller),
        action: 'channel.code-asked',
        subject: channel,
        detail: { channel },
      })
      const { code, expiresAt } = deps.codes.issue(channel, person)
      return { code, expires_at: expiresAt }
    },
  }
}

function stateOf(life: ChannelLife | null, howTo: string): Pick<ChannelView, 'state' | 'detail' | 'repair'> {
  if (!life) return { state: 'off', detail: 'the credentials of the channel are missing', repair: howTo }
  return life.state()
}
