import type { CaptchaSolverView } from '@flotilla/protocol/mesh-internal-api'
import { failure, ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Reports browsers that failed to start or ended unexpectedly; no finding for those that work. Pure. */
export function browserFindings(
  failed: readonly { readonly agent_id: string; readonly reason: string }[],
): readonly DoctorFinding[] {
  return failed.map(({ agent_id, reason }) => {
    const detail = `the browser of ${agent_id}: ${reason}`
    return reason.startsWith('browser-walls-open')
      ? failure(
          'browser-walls-open',
          detail,
          'No browser opens until its network filter works. Check which firewall rule of this machine lets the traffic through; the next use installs the filter again and retests it.',
        )
      : warning(
          'browser',
          detail,
          'The next use tries again. If the filter could not be installed, the kernel lacks it: modprobe nf_tables (or ip_tables), then try again.',
        )
  })
}

/** Reports the CAPTCHA solver; no finding if only people solve CAPTCHAs. Pure. */
export function captchaFindings(solver: CaptchaSolverView | null): readonly DoctorFinding[] {
  if (solver === null) return []
  const { host, per_hour, daily_usd, rests_until } = solver
  const detail = `CAPTCHAs are answered by ${host}, at most ${per_hour} an hour and USD ${daily_usd} a day; the terms of a site may forbid it (browser.captcha.never_solve)`
  if (rests_until === null) return [ok('captcha-solver', detail)]
  return [
    warning(
      'captcha-solver',
      `the CAPTCHA solver at ${host} failed several times in a row for an agent; it is in cooldown for that agent until ${new Date(rests_until).toISOString()}`,
      'Until then people solve the CAPTCHAs of that agent. Check the balance of its account, CAPTCHA_SOLVER_KEY, and browser.captcha in config/settings.json.',
    ),
  ]
}
