import type { PackageList } from '@flotilla/protocol/agent-packages'

/** Returns a list with the packages of both, in order and without repetitions. Pure. */
export function joinedList(one: PackageList, other: PackageList): PackageList {
  const join = <Name extends string>(names: readonly Name[] = [], more: readonly Name[] = []): Name[] =>
    [...new Set([...names, ...more])].toSorted()
  const all = {
    apt: join(one.apt, other.apt),
    npm: join(one.npm, other.npm),
    pip: join(one.pip, other.pip),
    toolboxes: join(one.toolboxes, other.toolboxes),
  }
  return {
    ...(all.apt.length > 0 ? { apt: all.apt } : {}),
    ...(all.npm.length > 0 ? { npm: all.npm } : {}),
    ...(all.pip.length > 0 ? { pip: all.pip } : {}),
    ...(all.toolboxes.length > 0 ? { toolboxes: all.toolboxes } : {}),
  }
}
