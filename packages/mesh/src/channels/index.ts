import { randomInt } from 'node:crypto'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Agents } from '../agents/index.ts'
import type { Artifacts } from '../collaboration/artifacts/index.ts'
import type { Vault } from '../credentials/index.ts'
import type { Kernel, MeshModule } from '../kernel/index.ts'
import type { People } from '../people/index.ts'
import type { Runs } from '../runs/index.ts'
import type { Spending } from '../spending/index.ts'
import type { ChannelAdapter } from './adapter.ts'
import { channelFactories } from './adapters/index.ts'
import type { ChannelFactory } from './adapters/index.ts'
import { createChannelLife } from './channel-life.ts'
import type { ChannelLife } from './channel-life.ts'
import type { CommandDeps } from './commands/channel-command.ts'
import { channelCommands } from './commands/command-table.ts'
import { createChannelDesk } from './channel-desk.ts'
import { createManageChannels } from './manage-channels.ts'
import { createMarkTable } from './mark-table.ts'
import { createPairingCodes } from './pairing/pairing-codes.ts'
import { channelPeopleRoutes } from './people.routes.ts'
import { channelPublicRoutes } from './public.routes.ts'

interface Needs {
  readonly people: Pick<People, 'broken' | 'channelCaller' | 'adoptIdentity' | 'identitiesOn' | 'ownersOn'>
  readonly runs: Runs
  readonly control: {
    readonly views: { all(): readonly AgentView[] }
    readonly approvals: CommandDeps['approvals']
  }
  readonly spending: Pick<Spending, 'report'>
  readonly agents: Pick<Agents, 'files'>
  readonly artifacts: Pick<Artifacts, 'read'>
  readonly vault: Pick<Vault, 'system'>
}

const menu = channelCommands.map(({ name, help }) => ({ command: name, description: help }))

/** People on chat platforms: what they say is a run or a command, and outcomes are told where they asked. */
export function channelsModule(kernel: Kernel, needs: Needs): MeshModule {
  const { people, vault } = needs
  const codes = createPairingCodes({ clock: kernel.clock, randomNumber: (below) => randomInt(below) })
  const desk = createChannelDesk(kernel, { ...needs, files: needs.agents.files, codes })
  const lives = new Map<ChannelName, ChannelLife>()
  const manage = createManageChannels(kernel, {
    lives,
    codes,
    letters: desk.letters,
    identitiesOn: people.identitiesOn,
  })

  async function lifeOf(name: ChannelName, factory: ChannelFactory): Promise<ChannelLife> {
    const secret = (wanted: string) => {
      const found = vault.system(wanted)
      if (!found) throw new Error(`the credential ${wanted} is not among those that the channel needs`)
      return found
    }
    const secretOrNull = (wanted: string) => vault.system(wanted) ?? null
    const { clock, log } = kernel
    const marks = createMarkTable(kernel.database, clock)
    const given = { secret, secretOrNull, settings: kernel.settings().channels, clock, log, marks }
    return createChannelLife({
      name,
      howTo: factory.howTo,
      create: () => factory.create({ ...given, menu }),
      received: (message) => desk.receive(name, message),
      passedOver: (what) => desk.passOver(name, what),
      clock: kernel.clock,
      log: kernel.log,
    })
  }

  async function openLives(): Promise<void> {
    for (const name of channelNames) {
      const factory = channelFactories[name]
      if (!factory.needs.every((credential) => vault.system(credential) !== undefined)) continue
      lives.set(name, await lifeOf(name, factory))
    }
  }

  return {
    api: {},
    routes: {
      public: (surface) =>
        channelPublicRoutes(surface, {
          lifeOf: (name) => [...lives.values()].find((life) => life.name === name) ?? null,
          clock: kernel.clock,
        }),
      people: (surface) => channelPeopleRoutes(surface, manage),
    },
    metrics: () => [
      {
        name: 'flotilla_channel_letters_waiting',
        kind: 'gauge',
        description: 'What people on chat platforms are still to be told',
        samples: [...lives.keys()].map((channel) => ({
          labels: { channel },
          value: desk.letters.openCount(channel),
        })),
      },
    ],
    start: openLives,
    begin: desk.resume,
    run: async (signal) => {
      const work = (adapter: ChannelAdapter, until: AbortSignal) => desk.serve(adapter, until)
      await Promise.all([...lives.values()].map((life) => life.run(work, signal)))
    },
    maintain: desk.maintain,
    close: desk.close,
    stop: async () => void (await Promise.all([...lives.values()].map((life) => life.close()))),
  }
}
