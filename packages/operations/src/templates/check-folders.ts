import type { TemplatePlan } from '@flotilla/protocol/templates-api'
import type { Caller } from '@flotilla/identity/access'
import type { FileWatches } from '@flotilla/inbound/triggers/watch'
import type { FleetTemplate } from './template-file.ts'

/**
 * Adds a warning to each watcher whose folder is missing or unreadable. Such a template can still be applied, because
 * the folder may be created later. A page without the owner's proof gets no warnings, so that a script cannot probe
 * for folders.
 */
export async function checkFolders(
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
