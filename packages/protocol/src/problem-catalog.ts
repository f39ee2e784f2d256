import { agentProblems } from './agent-problems.ts'
import { modelProblems } from './model-problems.ts'
import { policyProblems } from './policy-problems.ts'
import type { ProblemKind } from './problem-kind.ts'
import { runProblems } from './run-problems.ts'
import { storageProblems } from './storage-problems.ts'
import { walletProblems } from './wallet-problems.ts'

/**
 * Every problem that an API of Flotilla returns. Codes never change meaning; clients treat unknown ones by status.
 */
export const problemCatalog = {
  'bad-json': {
    status: 400,
    title: 'The body is not valid JSON',
    retryable: false,
    repair: 'Send one JSON value, encoded as UTF-8, with Content-Type: application/json.',
  },
  'bad-request': {
    status: 400,
    title: 'The request is invalid',
    retryable: false,
    repair:
      'Correct what the detail names. flotilla COMMAND --help describes each field; unknown fields are rejected.',
  },
  'path-refused': {
    status: 400,
    title: 'The path is outside /data',
    retryable: false,
    repair:
      'Use a path below /data without .. and without links that lead out: flotilla put AGENT FILE PATH.',
  },
  unauthenticated: {
    status: 401,
    title: 'Missing or invalid credentials',
    retryable: false,
    repair:
      'Send the token of this API as Authorization: Bearer TOKEN, or as a person your own token (FLOTILLA_TOKEN) or the cookie ol_session (FLOTILLA_SESSION); an agent gets new tokens at every start.',
  },
  'signature-refused': {
    status: 401,
    title: 'The webhook signature is missing or invalid',
    retryable: false,
    repair:
      'Sign the raw body with the secret of the hook (HMAC-SHA256), or with a new one from flotilla webhooks rotate HOOK, and send it in a header such as x-webhook-signature.',
  },
  'body-late': {
    status: 408,
    title: 'The body did not arrive in time',
    retryable: true,
    repair: 'Send the whole body at once, with its Content-Length.',
  },
  'budget-exhausted': {
    status: 402,
    title: 'The budget does not allow this call',
    retryable: false,
    repair:
      'Raise the budget (flotilla budget shows it, flotilla budget AGENT --daily USD sets it), or wait for the next day or month (UTC).',
  },
  denied: {
    status: 403,
    title: 'The permission record does not allow this',
    retryable: false,
    repair:
      'Ask the owner to allow it: flotilla permissions explain shows which line of config/permissions.json denies it, flotilla permissions set changes it.',
  },
  'human-only': {
    status: 403,
    title: 'Only a person at the terminal or the dashboard may do this',
    retryable: false,
    repair:
      'Ask the owner to do it at the terminal (flotilla --help lists the commands); it cannot be requested or approved in a conversation.',
  },
  'model-not-allowed': {
    status: 403,
    title: 'The agent may not use this model',
    retryable: false,
    repair:
      'Use a model that GET /v1/models lists, or ask the owner to add it to agents.*.models of config/settings.json.',
  },
  'proof-wanted': {
    status: 403,
    title: 'The owner’s proof is required',
    retryable: false,
    repair:
      'Run flotilla proof in a terminal of the machine, and type the code that it prints into the page.',
  },
  'host-refused': {
    status: 403,
    title: 'The Host or Origin is not allowed on this API',
    retryable: false,
    repair:
      'Call the API directly on 127.0.0.1 or localhost and its port (flotilla status), not through a proxy; set FLOTILLA_PUBLIC_BIND for other machines.',
  },
  'credential-refused': {
    status: 403,
    title: 'The credential is not bound to this host',
    retryable: false,
    repair:
      'Send the credential to a host that it is bound to, or ask the owner to bind this host: flotilla credentials bind NAME HOST.',
  },
  'address-refused': {
    status: 403,
    title: 'The address is not public',
    retryable: false,
    repair:
      'Use a public address. An owner can open one private address with its exact host:port in egress.allowed_private of config/settings.json.',
  },
  'port-refused': {
    status: 403,
    title: 'Agents may not connect to this port',
    retryable: false,
    repair:
      'Use a port that the detail names, or ask the owner to add it to egress.allowed_ports of config/settings.json.',
  },
  'name-unresolved': {
    status: 403,
    title: 'The name has no address',
    retryable: false,
    repair:
      'Check the spelling; if it is right, the owner checks egress.dns_servers of config/settings.json and the name servers of the machine.',
  },
  'destination-refused': {
    status: 403,
    title: 'The agent may not connect to this host',
    retryable: false,
    repair: 'Ask the owner to add the host to egress.allowed_hosts of config/settings.json.',
  },
  'not-found': {
    status: 404,
    title: 'Not found, or not visible to you',
    retryable: false,
    repair:
      'Check the id: agents are listed by flotilla status, runs by flotilla runs, tasks by flotilla tasks, webhooks by flotilla webhooks list, and edits that can be undone by flotilla changes.',
  },
  'proxy-unauthenticated': {
    status: 407,
    title: 'The request to the forward proxy has no token',
    retryable: false,
    repair: 'Use HTTP_PROXY and HTTPS_PROXY as they are set in the agent’s environment.',
  },
  'credential-unknown': {
    status: 404,
    title: 'The credential does not exist, or you may not use it',
    retryable: false,
    repair: 'Use a name that vault_list returns, or ask the owner with request_credential.',
  },
  conflict: {
    status: 409,
    title: 'The current state does not allow this',
    retryable: false,
    repair:
      'See the state with flotilla status, flotilla runs or flotilla pending, and request what the detail still allows.',
  },
  'home-in-use': {
    status: 409,
    title: 'Another process uses this home',
    retryable: true,
    repair:
      'See the process with flotilla status, end it with flotilla stop, or choose another home with --home.',
  },
  'home-unusable': {
    status: 500,
    title: 'The home directory cannot be created or used',
    retryable: false,
    repair:
      'Choose a folder on a local disk that the user of the mesh can write to, with --home or FLOTILLA_HOME, or free space on the disk of this home.',
  },
  'wrong-home': {
    status: 409,
    title: 'The mesh that answers belongs to another home',
    retryable: false,
    repair:
      'Choose the home of that mesh with --home, or start the mesh of your home on another port: flotilla start -d --home HOME --port PORT.',
  },
  'webhook-full': {
    status: 503,
    title: 'The webhook cannot remember more bodies, so it cannot detect repetitions',
    retryable: false,
    repair:
      'See the history of the webhook with flotilla webhooks deliveries HOOK; sign id and timestamp, set repeats: accept, or use another webhook.',
  },
  'webhook-disabled': {
    status: 409,
    title: 'The webhook is disabled',
    retryable: false,
    repair: 'Ask the owner to enable it: enabled: true in PATCH /api/webhooks/HOOK.',
  },
  'stale-fence': {
    status: 409,
    title: 'A newer attempt owns this run',
    retryable: false,
    repair:
      'Stop working on this run; the attempt with the higher x-run-fence owns it (flotilla runs shows it).',
  },
  'version-conflict': {
    status: 409,
    title: 'The entry has another version',
    retryable: false,
    repair:
      'Read the entry again (flotilla blackboard), and send its current version in the field expected_version.',
  },
  'outcome-unknown': {
    status: 409,
    title: 'The call started earlier and its outcome is unknown',
    retryable: false,
    repair:
      'Check whether it happened (flotilla runs shows the call) before repeating it with a new Idempotency-Key.',
  },
  'approval-changed': {
    status: 409,
    title: 'The action differs from the one that was requested',
    retryable: false,
    repair: 'Review the action again with flotilla pending, then confirm what is shown now.',
  },
  'approval-used': {
    status: 409,
    title: 'The approval is already decided',
    retryable: false,
    repair:
      'See the decision with flotilla pending --all, and request the action again if you still need it.',
  },
  'edit-overtaken': {
    status: 409,
    title: 'The value was changed by another edit',
    retryable: false,
    repair: 'See the current value with flotilla changes, then repeat your edit.',
  },
  'undo-overtaken': {
    status: 409,
    title: 'The value was changed again',
    retryable: false,
    repair:
      'Compare the current value with the one you want (flotilla changes), then change the value with flotilla edit.',
  },
  'undo-used': {
    status: 409,
    title: 'The change was already undone',
    retryable: false,
    repair: 'See the current value with flotilla changes, and change it with flotilla edit if needed.',
  },
  'hand-off-refused': {
    status: 409,
    title: 'The hand-off would create a cycle or is too deep',
    retryable: false,
    repair: 'Do the work yourself, or hand it off to an agent outside the chain (see flotilla tasks).',
  },
  'agent-busy': {
    status: 409,
    title: 'The agent is working on another run',
    retryable: true,
    repair:
      'Wait for its run to end (flotilla runs), or add your message to the run: flotilla steer AGENT TEXT.',
  },
  'approval-expired': {
    status: 410,
    title: 'The approval expired before a person decided',
    retryable: false,
    repair: 'Request the action again if you still need it; flotilla pending --all shows the old request.',
  },
  'undo-expired': {
    status: 410,
    title: 'The change can no longer be undone',
    retryable: false,
    repair: 'Change the value with flotilla edit instead; flotilla changes shows the earlier value.',
  },
  'body-too-large': {
    status: 413,
    title: 'The body is too large',
    retryable: false,
    repair:
      'Send less than the detail allows; send long text to an agent as a file (flotilla put AGENT FILE) and name the file in a short message.',
  },
  'unsupported-encoding': {
    status: 415,
    title: 'The body is compressed',
    retryable: false,
    repair: 'Send the body without Content-Encoding.',
  },
  'skill-rejected': {
    status: 422,
    title: 'The skill was rejected',
    retryable: false,
    repair: 'Correct each fault at its line and column, and send the whole source again in the field source.',
  },
  unprocessable: {
    status: 422,
    title: 'The request is valid but cannot be carried out',
    retryable: false,
    repair:
      'Change what the detail names; flotilla doctor checks the files of the home, and flotilla COMMAND --help describes a command.',
  },
  'model-unpriced': {
    status: 422,
    title: 'The price of the model is unknown',
    retryable: false,
    repair:
      'Set the price with flotilla models price NAME --input USD --output USD, which writes models.NAME.price of config/settings.json; 0 for a model that costs nothing.',
  },
  'lane-full': {
    status: 429,
    title: 'The agent has too many queued runs',
    retryable: true,
    repair: 'Wait for queued runs to end (flotilla runs), or cancel some: flotilla cancel RUN.',
  },
  'approvals-full': {
    status: 429,
    title: 'Too many actions are waiting for a person',
    retryable: true,
    repair: 'Ask the owner to decide the pending ones: flotilla pending.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many calls',
    retryable: true,
    repair:
      'Wait as long as the header Retry-After says; the owner sets rate_limits of agents in config/settings.json.',
  },
  ...agentProblems,
  ...policyProblems,
  ...walletProblems,
  ...modelProblems,
  ...runProblems,
  'upstream-failed': {
    status: 502,
    title: 'The remote server failed',
    retryable: true,
    repair: 'Retry later; flotilla models shows the state of models, flotilla runs RUN what a run received.',
  },
  'mesh-unreachable': {
    status: 503,
    title: 'No mesh answers at this address',
    retryable: true,
    repair: 'Start the mesh with flotilla start -d, or choose another mesh with --home, --port or --url.',
  },
  'agent-unavailable': {
    status: 503,
    title: 'The agent cannot be started or reached',
    retryable: true,
    repair: 'Run flotilla status and flotilla doctor to see why.',
  },
  'fleet-paused': {
    status: 503,
    title: 'Agents are stopped because an isolation check failed',
    retryable: true,
    repair: 'Run flotilla doctor and correct what it names; flotilla walls repeats the check.',
  },
  'isolation-unavailable': {
    status: 503,
    title: 'The required isolation level is unavailable',
    retryable: false,
    repair: 'Run flotilla doctor: it names what is missing and tests the level again.',
  },
  'not-configured': {
    status: 503,
    title: 'This feature is not configured',
    retryable: false,
    repair:
      'Set what the detail names in .env or config/settings.json of the home; flotilla doctor lists what is missing.',
  },
  'mesh-secret-refused': {
    status: 503,
    title: 'The secret of this home is missing or belongs to another home',
    retryable: false,
    repair:
      'Restore data/mesh-secret from a backup. Without a backup, flotilla journal begin-anew creates another secret and marks the existing audit log as accepted by you.',
  },
  ...storageProblems,
  'upstream-timeout': {
    status: 504,
    title: 'The remote server took too long',
    retryable: true,
    repair: 'Retry later; flotilla models shows the state of models, flotilla runs RUN what a run received.',
  },
  'internal-error': {
    status: 500,
    title: 'Internal error',
    retryable: true,
    repair:
      'Look for request_id in the log of the mesh (data/mesh.log in the home), and run flotilla doctor.',
  },
  'client-gone': {
    status: 499,
    title: 'The client disconnected before the answer',
    retryable: true,
    repair:
      'Repeat the request and wait for the answer; if the client was an agent, flotilla runs shows why it ended.',
  },
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof problemCatalog

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(problemCatalog, code)
}
