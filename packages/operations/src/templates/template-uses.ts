import * as z from 'zod'
import { Problem } from '@flotilla/protocol/problem'
import type { templatesApi as api, TemplatePlan } from '@flotilla/protocol/templates-api'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { FileWatches } from '@flotilla/inbound/triggers/watch'
import type { Resumable } from '@flotilla/foundation/storage'
import type { ApplyTemplate } from './apply-template.ts'
import { createExportFleet } from './export-fleet.ts'
import type { ExportFleet, ExportedFleet, ExportFleetDeps } from './export-fleet.ts'
import { parseTemplate } from './template-file.ts'
import type { FleetTemplate } from './template-file.ts'
import type { FleetTemplates } from './template-folders.ts'

/** The agents that existed before an interrupted application. */
const thereSchema = z.object({ there: z.array(z.string()) })

export type AppliedTemplate = Reply<'templateApply'>
type Reply<Name extends keyof typeof api> = z.input<(typeof api)[Name]['response']>

/** The name of a template or its text. */
interface Source {
  readonly name?: string | undefined
  readonly text?: string | undefined
}

export interface TemplateUses {
  list(caller: Caller): Promise<Reply<'templates'>['templates']>
  /** The names alone: the templates are not read, because parsing all of them takes tens of milliseconds. */
  names(caller: Caller): Promise<readonly string[]>
  text(caller: Caller, name: string): Promise<Reply<'template'>>
  plan(caller: Caller, source: Source): Promise<Reply<'templatePlan'>>
  apply(
    caller: Caller,
    source: Source & { readonly digest?: string | undefined },
  ): Promise<Reply<'templateApplyPlan'>>
  /** Like `apply`, but existing objects stay. With a step, agents of an interrupted attempt count as new. */
  applyNew(caller: Caller, name: string, step?: Resumable<AppliedTemplate>): Promise<AppliedTemplate>
  exportFleet(...request: Parameters<ExportFleet>): Promise<ExportedFleet>
}

/** Operations on templates for people, in the form of the API. */
export function createTemplateUses(
  deps: ExportFleetDeps & {
    readonly guard: Guard
    readonly application: ApplyTemplate
    readonly fileWatches: Pick<FileWatches, 'refresh' | 'troubles'>
    readonly templates: FleetTemplates
  },
): TemplateUses {
  const { guard, application, templates, fileWatches } = deps
  const exportNow = createExportFleet(deps)

  async function read({ name, text }: Source): Promise<FleetTemplate> {
    if ((name === undefined) === (text === undefined))
      throw new Problem('bad-request', { detail: 'give the name of a template or its text' })
    return text === undefined ? templates.read(name ?? '') : parseTemplate(null, text)
  }

  return {
    async list(caller) {
      guard(caller, { do: 'view-fleet' })
      const found = await templates.list()
      return Promise.all(
        found.map(async ({ name, folder }) => {
          const from = folder === 0 ? ('home' as const) : ('shipped' as const)
          try {
            const { description, agents } = await templates.read(name)
            return { name, from, description, agents: agents.map(({ id }) => id), broken: null }
          } catch (error) {
            if (!(error instanceof Problem)) throw error
            return { name, from, description: '', agents: [], broken: error.detail }
          }
        }),
      )
    },
    async names(caller) {
      guard(caller, { do: 'view-fleet' })
      return (await templates.list()).map(({ name }) => name)
    },
    async text(caller, name) {
      guard(caller, { do: 'view-fleet' })
      return { name, text: await templates.text(name) }
    },
    async plan(caller, source) {
      guard(caller, { do: 'manage-fleet' })
      const template = await read(source)
      await fileWatches.refresh()
      const plan = application.plan(caller, template)
      return checkFolders(caller, { plan, template, troubles: fileWatches.troubles })
    },
    async apply(caller, { digest, ...source }) {
      guard(caller, { do: 'manage-fleet' })
      const template = await read(source)
      const { plan, secrets } = await application.apply(caller, template, { digest })
      return {
        plan: await checkFolders(caller, { plan, template, troubles: fileWatches.troubles }),
        secrets: secrets.map(({ hook, secret }) => ({
          webhook: `${hook.agentId}: ${hook.name}`,
          path: `/webhook/hook/${hook.id}`,
          secret,
        })),
      }
    },
    async applyNew(caller, name, step) {
      guard(caller, { do: 'manage-fleet' })
      const begun = thereSchema.safeParse(step?.begun)
      const there = begun.success ? begun.data.there : deps.agents.list().map(({ id }) => id)
      if (!begun.success) step?.begin({ there })
      const { plan } = await application.apply(caller, await read({ name }), { onlyNew: true })
      const ids = plan.items.filter(({ kind }) => kind === 'agent').map(({ id }) => id)
      const reply = {
        created: ids.filter((id) => !there.includes(id)),
        existing: ids.filter((id) => there.includes(id)),
      }
      return step ? step.settle(() => reply) : reply
    },
    async exportFleet(caller, request) {
      guard(caller, { do: 'manage-fleet' })
      await fileWatches.refresh()
      return exportNow(caller, request)
    },
  }
}

/**
 * Adds a warning to each watcher whose folder is missing or unreadable. Such a template can still be applied, because
 * the folder may be created later. A page without the owner's proof gets no warnings, so that a script cannot probe
 * for folders.
 */
async function checkFolders(
  caller: Caller,
  {
    plan,
    template: { watchers },
    troubles,
  }: {
    readonly plan: TemplatePlan
    readonly template: Pick<FleetTemplate, 'watchers'>
    readonly troubles: FileWatches['troubles']
  },
): Promise<TemplatePlan> {
  const isUnproved = caller.kind === 'human' && caller.page === 'unproved'
  if (watchers.length === 0 || isUnproved) return plan
  const found = await troubles(watchers.map(({ path }) => path))
  if (found.size === 0) return plan
  // Watchers are the last items of a plan, in the order of the template.
  const first = plan.items.length - watchers.length
  return {
    ...plan,
    items: plan.items.map((item, at) => {
      const warning = found.get(watchers[at - first]?.path ?? '')
      return warning === undefined ? item : { ...item, warning }
    }),
  }
}
