export const whereDecided =
  'Nothing is approved here. In a terminal of the machine: flotilla pending; or at the dashboard, under Approvals.'

/** What people would do by a command that is not done on any chat platform, and where it is. */
const elsewhere: readonly (readonly [RegExp, string])[] = [
  [/^(?:approve|approvals?|deny|reject|decide|confirm)$/, whereDecided],
  [
    /^(?:credentials?|secrets?|tokens?)$/,
    'No credential is given here. In a terminal of the machine: flotilla credentials; or at the dashboard, under Settings.',
  ],
  [
    /^(?:permissions?|allow|grant|revoke)$/,
    'No permission is given here. In a terminal of the machine: flotilla permissions; or at the dashboard, under Fleet.',
  ],
]

/** Where that is done; null where it is done nowhere. Pure. */
export function whereElse(command: string): string | null {
  return elsewhere.find(([names]) => names.test(command))?.[1] ?? null
}
