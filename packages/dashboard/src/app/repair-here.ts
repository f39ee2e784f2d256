import type { Problem } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'

/** Repairs that are possible on the pages, for problems whose catalogue entry names terminal commands. */
const here: Partial<Record<ProblemCode, string>> = {
  'budget-exhausted': 'Raise the budget under Settings, Limits, or wait for the next day or month (UTC).',
  denied:
    'Ask the owner to allow it: the page of the agent, under Permissions, says what denies it and changes it.',
  'credential-refused': 'Send it to a host that it is bound to; Settings, Credentials, binds it to more.',
  'signature-refused':
    'Sign the raw body with the secret of the webhook, or with a new one from Settings, Integrations.',
  'webhook-full': 'See its history under Settings, Integrations.',
  'not-found': 'It may have been deleted meanwhile: reload the page.',
  conflict: 'Check the current state, and try what the detail allows.',
  'version-conflict': 'Read the entry again, and replace its current version.',
  'outcome-unknown': 'Check under Runs whether it happened before you do it again.',
  'approval-changed': 'Review it again under Approvals, and confirm its current content.',
  'approval-used': 'Approvals shows the result. Ask again if you still need it.',
  'approval-expired': 'Let the agent ask again if you still need it; Approvals shows the expired request.',
  'approvals-full': 'The owner must decide what waits under Approvals.',
  'approval-required': 'The owner decides under Approvals; the run then continues with the decision.',
  'edit-overtaken': 'Check the current value, and change that.',
  'undo-overtaken': 'Compare the value now with the one you want, and edit it.',
  'undo-used': 'Check the current value, and edit it if needed.',
  'undo-expired': 'Edit the value instead; the changes of the agent show what it was.',
  'agent-busy': 'Wait for its run to end, or send a message to the run in Chat.',
  'lane-full': 'Wait for queued runs to end, or stop some on their pages under Runs.',
  'upstream-failed': 'Try again later; Settings, Providers and models, shows the health of models.',
  'upstream-timeout': 'Try again later; Settings, Providers and models, shows the health of models.',
  'provider-refused': 'Check its key and its model under Settings, Providers and models.',
  'provider-quota-exhausted':
    'Add credit to the account at the provider, or choose another model under Settings, Providers and models.',
  'provider-unreadable':
    'Try again; if it happens again, check under Settings, Providers and models, that its address is that of the API.',
  'history-refused': 'Rephrase the message, or start a new session in Chat.',
  'provider-unreachable':
    'Check its address under Settings, Providers and models, and the network of the mesh.',
  'model-call-rejected':
    'Correct what the detail names; Settings, Providers and models, shows what is set for the model.',
  'model-unpriced':
    'An owner sets its price under Settings, Providers and models; 0 for a model that costs nothing.',
  'model-failed': 'Try again, or choose another model under Settings, Providers and models.',
  'context-exhausted': 'Start a new session in Chat, or use a model with a larger context.',
  'tool-loop-terminated':
    'Rephrase the request, or fix the tool that keeps failing: the page of the run shows its calls.',
  'no-capable-agent':
    'Name an agent, or let one declare the capability. The page of the asking agent, under Permissions, shows which agents it may message.',
  interrupted: 'Ask again; the page of the run shows what was done so far.',
  cancelled: 'Ask again if you still need it; the page of the run shows how far it came.',
  expired: 'Ask again; Fleet shows whose queue is long, Approvals what waits for a person.',
  'unknown-agent': 'Fleet lists all agents.',
  'agent-archived': 'Give the work to another agent, or unarchive this one under Fleet.',
  'agent-quarantined': 'Its work waits until it recovers; Restart on its page retries immediately.',
  'agent-unavailable': 'Check the agent under Fleet, and its logs.',
  'body-too-large': 'Send less than the detail allows; attach a long text in Chat as a file.',
  'path-refused': 'Name a path below /data without .. and without links that lead out.',
  unprocessable: 'Change what the detail names.',
  'hand-off-refused': 'Give it to an agent outside the chain; Work shows who works for whom.',
  'reserved-agent-id': 'Choose another name; Fleet shows those that are taken.',
  'wallet-locked': 'The owner opens it on the page Wallet, once after each start of the mesh.',
  'wallet-stopped':
    'The owner checks the reason on the page Wallet, stops any other mesh that pays from the same seed, and resumes the wallet there.',
  'browser-unavailable': 'Try again in a minute; Settings, Browsers, says why.',
}

/** Returns the repair of a problem for a reader of the pages, who may have no terminal. Pure. */
export function repairHere({ code, repair }: Pick<Problem, 'code' | 'repair'>): string {
  return /\bflotilla [a-zA-Z]|\.env\b/.test(repair) ? (here[code] ?? repair) : repair
}
