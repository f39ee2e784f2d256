export const whereDecided =
  'Approvals are not given here. In a terminal of the machine: flotilla pending; or in the dashboard, under Approvals.'

/** Commands that no chat platform offers, and where the person can do the same. */
const elsewhere: readonly (readonly [RegExp, string])[] = [
  [/^(?:approve|approvals?|deny|reject|decide|confirm)$/, whereDecided],
  [
    /^(?:credentials?|secrets?|tokens?)$/,
    'Credentials are not given here. In a terminal of the machine: flotilla credentials; or in the dashboard, under Settings.',
  ],
  [
    /^(?:permissions?|allow|grant|revoke)$/,
    'Permissions are not given here. In a terminal of the machine: flotilla permissions; or in the dashboard, under Fleet.',
  ],
]

/** Returns where a person can run the command instead; null if no other place offers the command. Pure. */
export function whereElse(command: string): string | null {
  return elsewhere.find(([names]) => names.test(command))?.[1] ?? null
}
