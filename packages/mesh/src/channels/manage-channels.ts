import type { ChannelView } from '@flotilla/protocol/channels-api'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf, requireAtTerminal } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { ChannelLife } from './channel-life.ts'
import { channelFactories } from './adapters/index.ts'
import type { LetterTable } from './delivery/letter-table.ts'
import type { PairingCodes } from './pairing/pairing-codes.ts'

export interface ManageChannels {
  /** Every channel that there is, also those that are off. Problem `denied`. */
  list(caller: Caller): readonly ChannelView[]
  /**
   * A code to print: whoever shows it on the platform first is known as the caller there. Problems `denied`, `human-only`,
   * `not-found`, `conflict` where the channel is off.
   */
  pair(caller: Caller, name: string): { readonly code: string; readonly expires_at: number }
}

export function createManageChannels(
  { guard, journal }: Pick<Kernel, 'guard' | 'journal'>,
  deps: {
    readonly lives: ReadonlyMap<ChannelName, ChannelLife>
    readonly letters: Pick<LetterTable, 'openCount'>
    readonly codes: PairingCodes
    readonly identitiesOn: (channel: ChannelName) => number
  },
): ManageChannels {
  const { lives } = deps
  return {
    list: (caller) => {
      guard(caller, { do: 'manage-people' })
      return channelNames.map((name) => ({
        name,
        ...stateOf(lives.get(name), channelFactories[name].howTo),
        people: deps.identitiesOn(name),
        waiting: deps.letters.openCount(name),
      }))
    },
    pair: (caller, name) => {
      guard(caller, { do: 'manage-people' })
      const person = requireAtTerminal(caller, 'pair a channel')
      const channel = channelNames.find((one) => one === name)
      if (channel === undefined) {
        throw new Problem('not-found', {
          detail: `there is no channel ${name.slice(0, 32)}; flotilla channels shows all`,
        })
      }
      if (!lives.has(channel)) {
        throw new Problem('conflict', {
          detail: `${channel} is off. ${channelFactories[channel].howTo}`,
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

function stateOf(
  life: ChannelLife | undefined,
  howTo: string,
): Pick<ChannelView, 'state' | 'detail' | 'repair'> {
  if (!life) return { state: 'off', detail: 'its credentials are not there', repair: howTo }
  return life.state()
}
