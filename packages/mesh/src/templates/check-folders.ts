import type { TemplatePlan } from '@flotilla/protocol/templates-api'
import type { Caller } from '../access/index.ts'
import type { FileWatches } from '../triggers/watch/index.ts'
import type { FleetTemplate } from './template-file.ts'

/**
 * The plan with a warning at each watcher whose folder this machine has not, or cannot look into: such a template is
 * applied all the same, for a folder may come. A page without the owner's proof is told nothing of folders, as a script
 * in it could ask of each that there might be.
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
  // A plan has its watchers last, in the order of the template.
  const first = plan.items.length - watchers.length
  return {
    ...plan,
    items: plan.items.map((item, at) => {
      const warning = found.get(watchers[at - first]?.path ?? '')
      return warning === undefined ? item : { ...item, warning }
    }),
  }
}
