import { failure, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Of browsers that did not come up, or ended unasked; nothing is said of those that are well. Pure. */
export function browserFindings(
  failed: readonly { readonly agent_id: string; readonly reason: string }[],
): readonly DoctorFinding[] {
  return failed.map(({ agent_id, reason }) => {
    const words = `the browser of ${agent_id}: ${reason}`
    return reason.startsWith('browser-walls-open')
      ? failure(
          'browser-walls-open',
          words,
          'No browser is opened until they hold. See which rule of this machine’s firewall lets it through; the next use lays ours anew and tries them again.',
        )
      : warning(
          'browser',
          words,
          'Its next use tries again. A filter that does not stand is one that the kernel lacks: modprobe nf_tables (or ip_tables), then try again.',
        )
  })
}
