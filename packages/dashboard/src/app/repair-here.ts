import type { Problem } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'

/** Where on these pages that is done for which the catalogue names commands of the terminal. */
const here: Partial<Record<ProblemCode, string>> = {
  'budget-exhausted': 'Raise the budget under Settings, Limits, or wait for the next day or month (UTC).',
  denied:
    'Ask the owner to allow it: the page of the agent, under Permissions, says what denies it and changes it.',
  'credential-refused': 'Send it to a host that it is bound to; Settings, Credentials, binds it to more.',
  'signature-refused':
    'Sign the raw body with the secret of the webhook, or with a new one from Settings, Integrations.',
  'webhook-full': 'See its history under Settings, Integrations.',
  'not-found': 'It may have been taken away meanwhile: look at what there is now.',
  conflict: 'Look at what stands now, and ask for what the detail leaves possible.',
  'version-conflict': 'Read the entry again, and write over the version that it has then.',
  'outcome-unknown': 'Look under Runs whether it happened, before doing it again.',
  'approval-changed': 'Look at it again under Approvals, and confirm what it shows now.',
  'approval-used': 'Approvals shows what became of it. Ask again where it is still wanted.',
  'approval-expired': 'Have it asked for again where it is still wanted; Approvals shows what it was.',
  'approvals-full': 'Have the owner decide what waits under Approvals.',
  'edit-overtaken': 'Look at what stands there now, and change that.',
  'undo-overtaken': 'Compare the value now with the one you want, and edit it.',
  'undo-used': 'Look at what it is now, and edit it where it is not what you want.',
  'undo-expired': 'Edit the value instead; the changes of the agent show what it was.',
  'agent-busy': 'Wait for its run to end, or say it to the run in Chat.',
  'lane-full': 'Wait for queued runs to end, or stop some on their pages under Runs.',
  'upstream-failed': 'Try again later; Settings, Providers and models, shows how models do.',
  'upstream-timeout': 'Try again later; Settings, Providers and models, shows how models do.',
  'provider-refused': 'Check its key and its model under Settings, Providers and models.',
  'provider-quota-exhausted':
    'Add credit where the account is kept, or choose another model under Settings, Providers and models.',
  'history-refused': 'Say it in other words, or begin a new session in Chat.',
  'provider-unreachable':
    'Check its address under Settings, Providers and models, and the network of the mesh.',
  'model-call-rejected':
    'Correct what the detail names; Settings, Providers and models, shows what is set for the model.',
  'model-failed': 'Try again, or choose another model under Settings, Providers and models.',
  'context-exhausted': 'Begin a new session in Chat, or use a model with a larger context.',
  'tool-loop-terminated':
    'Say it in other words, or mend the tool that keeps failing: the page of the run shows its calls.',
  'no-capable-agent':
    'Name an agent, or let one say what it can; the page of the asker, under Permissions, says whom it may message.',
  interrupted: 'Ask again; the page of the run shows what was done so far.',
  cancelled: 'Ask again where it is still wanted; the page of the run shows how far it came.',
  expired: 'Ask again; Fleet shows whose queue is long, Approvals what waits for a person.',
  'unknown-agent': 'Fleet lists the agents that there are.',
  'agent-archived': 'Give the work to another agent, or take this one back under Fleet.',
  'agent-quarantined': 'Its work waits until it is well; Restart on its page tries it at once.',
  'agent-unavailable': 'Look at the agent under Fleet, and at its logs.',
  'body-too-large': 'Send less than the detail allows; attach a long text in Chat as a file.',
  'path-refused': 'Name a path below /data without .. and without links that lead out.',
  unprocessable: 'Change what the detail names.',
  'hand-off-refused': 'Give it to an agent outside the chain; Work shows who works for whom.',
  'reserved-agent-id': 'Choose another name; Fleet shows those that are taken.',
  'wallet-locked': 'The owner opens it on the page Wallet, once after each start of the mesh.',
  'wallet-stopped':
    'The owner reads the reason on the page Wallet, sees to it that no other mesh pays from the same seed, and lets it go on there.',
  'browser-unavailable': 'Try again in a minute; Settings, Browsers, says why.',
}

/** What mends it, for somebody who looks at these pages and has no terminal before them. Pure. */
export function repairHere({ code, repair }: Pick<Problem, 'code' | 'repair'>): string {
  return /\bflotilla [a-zA-Z]|\.env\b/.test(repair) ? (here[code] ?? repair) : repair
}
