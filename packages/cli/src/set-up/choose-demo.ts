import type { MeshClient } from '@flotilla/client/mesh-client'
import type { CommandContext } from '../context.ts'
import { oneLine } from '../terminal/color.ts'
import { confirmByTyping } from '../terminal/confirm.ts'

/** The choice of the scripted model, with the agent to ask and the question that it can answer. */
export interface DemoChoice {
  readonly kind: 'demo'
  readonly template: string
  readonly agent: string
  readonly question: string
}

const nameColumnsMax = 60

/** Selects the scripted model for the fleet; replaces a working model only if a person confirms it. */
export async function chooseDemo(
  context: CommandContext,
  client: MeshClient,
  { asks }: { readonly asks: boolean },
): Promise<DemoChoice> {
  const current = asks ? await workingModel(context, client) : null
  if (current !== null) {
    await confirmByTyping(context, {
      what: `init --demo replaces the model ${current} with the scripted model`,
      question: `Replace the model ${current} with the scripted model of the demo?`,
      answer: 'yes',
    })
  }
  const ended = context.terminal.working(() => 'Creating the fleet of the recorded demo')
  try {
    const { template, agent, question } = await client.call('setupDemo', { signal: context.signal })
    await client.call('templateApply', { params: { name: template }, signal: context.signal })
    return { kind: 'demo', template, agent, question }
  } finally {
    ended()
  }
}

/**
 * Returns the working model that the demo would replace. Null without a model, with the scripted one, if its provider
 * is not ready, or if the mesh rejects any change.
 */
async function workingModel({ signal }: CommandContext, client: MeshClient): Promise<string | null> {
  const setup = await client.call('setup', { signal })
  const name = setup.default_model?.name
  if (name === undefined || setup.demo !== null || setup.default_model_locked !== null) return null
  // A provider that the setup does not offer was set up by hand, so it counts as complete.
  const offer = setup.providers.find((one) => name.startsWith(`${one.name}/`))
  return offer?.ready !== false ? oneLine(name, nameColumnsMax) : null
}
