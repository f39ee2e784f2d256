import { randomBytes, randomInt } from 'node:crypto'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Agents } from '@flotilla/fleet/agents'
import type { Artifacts } from '@flotilla/collaboration/artifacts'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { Vault } from '@flotilla/egress/credentials'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Models } from '@flotilla/inference/models'
import type { People } from '@flotilla/identity/people'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import type { Runs } from '@flotilla/work/runs'
import type { Spending } from '@flotilla/inference/spending'
import { channelFactories, createCheckTokens, platformRootsOf } from './adapters/index.ts'
import { createChannelLife } from './channel-life.ts'
import type { ChannelLife } from './channel-life.ts'
import { createChannelSwitch } from './channel-switch.ts'
import type { CommandDeps } from './commands/channel-command.ts'
import { channelCommands } from './commands/command-table.ts'
import { createChannelDesk } from './channel-desk.ts'
import type { ChannelKernel } from './channel-desk.ts'
import { howToSwitchOn } from './how-to-switch-on.ts'
import { createManageChannels } from './manage-channels.ts'
import { createMarkTable } from './mark-table.ts'
import { createPairingCodes } from './pairing/pairing-codes.ts'
import { channelInternalRoutes, channelPeopleRoutes } from './people.routes.ts'
import { channelPublicRoutes } from './public.routes.ts'
import { createSetUpChannels } from './set-up-channels.ts'

interface Needs {
  readonly people: Pick<People, 'broken' | 'channelCaller' | 'adoptIdentity' | 'linkedOn' | 'ownersOn'>
  readonly runs: Pick<Runs, 'queue' | 'queries' | 'lifecycle' | 'steering' | 'delivery' | 'sessions'>
  readonly views: { all(): readonly AgentView[] }
  readonly approvals: CommandDeps['approvals']
  readonly spending: Pick<Spending, 'report'>
  readonly agents: Pick<Agents, 'files'>
  readonly artifacts: Pick<Artifacts, 'read'>
  readonly models: Pick<Models, 'transcribe'>
  readonly vault: Pick<Vault, 'system' | 'systemSourceOf' | 'storeSystem' | 'removeSystem'>
  readonly settings: Pick<SettingsFile, 'edit'>
  readonly environment: { readonly proxies: OutboundProxies }
}

/** The length of a secret that the mesh generates, in bytes. */
const secretBytes = 32

const menu = channelCommands.map(({ name, help }) => ({ command: name, description: help }))

/**
 * Connects people on chat platforms. Their messages become runs or commands, and outcomes are sent to the
 * conversation of the request.
 */
export function channelsModule(kernel: ChannelKernel, needs: Needs): MeshModule {
  const { people, vault, runs } = needs
  const { proxies } = needs.environment
  const codes = createPairingCodes({ clock: kernel.clock, randomNumber: (below) => randomInt(below) })
  const desk = createChannelDesk(kernel, {
    ...needs,
    runs: {
      ...runs.queue,
      ...runs.queries,
      ...runs.lifecycle,
      ...runs.steering,
      ...runs.delivery,
      sessions: runs.sessions,
    },
    control: needs,
    files: needs.agents.files,
    artifacts: needs.artifacts,
    transcribe: needs.models.transcribe,
    codes,
  })
  const turns = createChannelSwitch({ create: lifeOf, serve: desk.serve, clock: kernel.clock })
  const checkTokens = createCheckTokens(() => platformRootsOf(kernel.settings().channels), proxies)
  const setUp = createSetUpChannels(kernel, {
    vault,
    settingsFile: needs.settings,
    turns,
    checkTokens,
    makeSecret: (credential) =>
      credential === 'channel_webhook_secret'
        ? `whsec_${randomBytes(secretBytes).toString('base64')}`
        : randomBytes(secretBytes).toString('hex'),
    forget: (channel) => {
      codes.close(channel)
      return desk.drop(channel, 'the channel was removed')
    },
  })
  const manage = createManageChannels(kernel, {
    turns,
    codes,
    letters: desk.letters,
    linkedOn: (channel) => [...people.linkedOn(channel)],
    keptOf: setUp.keptOf,
  })

  async function lifeOf(name: ChannelName): Promise<ChannelLife> {
    const factory = channelFactories[name]
    const secret = (name: string) => {
      const found = vault.system(name)
      if (!found) throw new Error(`the channel does not use the credential ${name}`)
      return found
    }
    const secretOrNull = (name: string) => vault.system(name) ?? null
    const { clock, log } = kernel
    const marks = createMarkTable(kernel.database, clock)
    const given = { secret, secretOrNull, settings: kernel.settings().channels, clock, log, marks, proxies }
    return createChannelLife({
      name,
      howTo: howToSwitchOn(name),
      create: () => factory.create({ ...given, menu }),
      received: (message) => desk.receive(name, message),
      passedOver: (what) => desk.passOver(name, what),
      moved: (what) => desk.moved(name, what),
      identityChanged: (what) => desk.identityChanged(name, what),
      clock: kernel.clock,
      log: kernel.log,
    })
  }

  async function openLives(): Promise<void> {
    for (const name of channelNames) {
      const { needs: credentials } = channelFactories[name]
      if (credentials.every((credential) => vault.system(credential) !== undefined)) await turns.turnOn(name)
    }
  }

  return {
    api: {},
    routes: {
      public: (surface) =>
        channelPublicRoutes(surface, {
          lifeOf: (name) => {
            const channel = turns.names().find((one) => one === name)
            return channel === undefined ? null : turns.find(channel)
          },
          clock: kernel.clock,
        }),
      people: (surface) => channelPeopleRoutes(surface, { manage, setUp }),
      internal: (surface) => channelInternalRoutes(surface, manage),
    },
    metrics: () => [
      {
        name: 'flotilla_channel_letters_waiting',
        kind: 'gauge',
        description: 'Messages that wait to be sent to people on chat platforms',
        samples: turns.names().map((channel) => ({
          labels: { channel },
          value: desk.letters.openCount(channel),
        })),
      },
    ],
    start: openLives,
    begin: desk.resume,
    run: turns.run,
    maintain: desk.maintain,
    close: desk.close,
    stop: turns.close,
  }
}
