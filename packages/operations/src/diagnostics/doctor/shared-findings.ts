import { ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** With fewer inotify instances, one program that watches many folders can by accident use up those of the others. */
const watchersEnough = 1024

/** Kernel limits shared by all containers, because their users have one id on the host. */
export interface SharedFacts {
  /** `fs.inotify.max_user_instances` and `max_user_watches`; null if the kernel does not report them. */
  readonly watchers: number | null
  readonly watches: number | null
  /** `fs.pipe-user-pages-soft`; 0 for no limit. */
  readonly pipePages: number | null
  /** The user of this machine that has the agents' user id, if any. */
  readonly hostUser: string | null
  /** The engine's name server inside containers: absent, blocked, or reachable. */
  readonly names: { readonly kind: 'none' | 'open'; readonly why: string } | { readonly kind: 'shut' }
}

/** Reports resources that agents share in spite of their containers. Pure. */
export function sharedFindings(facts: SharedFacts): readonly DoctorFinding[] {
  return [watchersFinding(facts), pipesFinding(facts), namesFinding(facts.names)]
}

function watchersFinding({ watchers, watches, hostUser }: SharedFacts): DoctorFinding {
  if (watchers === null)
    return ok(
      'shared-watchers',
      'the kernel of this machine supports no file watches, so agents cannot use them up',
    )
  const who = `all agents of this machine${hostUser === null ? '' : `, and ${hostUser},`}`
  const detail = `${who} together may have ${watchers} inotify instances and watch ${watches ?? 'some'} files, because the kernel counts them as one user: one agent can use them all, and then programs of the others cannot watch files until it is stopped. Nothing else is affected`
  return watchers >= watchersEnough
    ? ok('shared-watchers', detail)
    : warning(
        'shared-watchers',
        detail,
        'sudo sysctl -w fs.inotify.max_user_instances=8192 raises the limit, so that no agent reaches it by accident. Stop an agent that uses up the limit on purpose.',
      )
}

function pipesFinding({ pipePages, hostUser }: SharedFacts): DoctorFinding {
  if (pipePages === null || pipePages === 0)
    return ok('shared-pipes', 'pipes are not counted by user; their memory is counted by container')
  const who = `all agents together${hostUser === null ? '' : `, and ${hostUser},`}`
  return ok(
    'shared-pipes',
    `${who} have ${pipePages} pages of pipes at their full size; pipes beyond that are small, and work`,
  )
}

function namesFinding(names: SharedFacts['names']): DoctorFinding {
  switch (names.kind) {
    case 'none':
      return ok('names-inside', `no name server answers inside containers: ${names.why}`)
    case 'shut':
      return ok('names-inside', "the engine's name server is blocked inside each container")
    case 'open':
      return warning(
        'names-inside',
        `the engine's name server answers inside containers, because ${names.why}: an agent can learn how many others run and at which addresses, which it cannot reach, and nothing of who they are. It forwards no queries to the outside, which each isolation check verifies`,
        'Run the mesh as root with nsenter and iptables installed; the mesh then blocks the name server.',
      )
  }
}
