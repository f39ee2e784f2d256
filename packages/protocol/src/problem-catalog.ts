import { agentProblems } from './agent-problems.ts'
import { modelProblems } from './model-problems.ts'
import type { ProblemKind } from './problem-kind.ts'
import { runProblems } from './run-problems.ts'
import { walletProblems } from './wallet-problems.ts'

/** Every problem that leaves an API of ours. Codes never change meaning; clients treat unknown ones by status. */
export const problemCatalog = {
  'bad-json': {
    status: 400,
    title: 'The body is not valid JSON',
    retryable: false,
    repair: 'Send one JSON value, encoded as UTF-8, with Content-Type: application/json.',
  },
  'bad-request': {
    status: 400,
    title: 'The request is not of the expected form',
    retryable: false,
    repair:
      'Correct what the detail names; flotilla COMMAND --help says what each field takes, and fields that nobody knows are refused.',
  },
  'path-refused': {
    status: 400,
    title: 'The path leaves /data',
    retryable: false,
    repair:
      'Name a path below /data without .. and without links that lead out: flotilla put AGENT FILE PATH.',
  },
  unauthenticated: {
    status: 401,
    title: 'No identity, or a wrong one',
    retryable: false,
    repair:
      'Send the token of this API as Authorization: Bearer TOKEN, or as a person your own token (FLOTILLA_TOKEN) or the cookie ol_session (FLOTILLA_SESSION); an agent gets new tokens at every start.',
  },
  'signature-refused': {
    status: 401,
    title: 'The delivery is not signed as this webhook wants it',
    retryable: false,
    repair:
      'Sign the raw body with the secret of the hook (HMAC-SHA256), or with a new one from flotilla webhooks rotate HOOK, and send it in its header, such as x-webhook-signature.',
  },
  'body-late': {
    status: 408,
    title: 'The body did not come in time',
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
      'Ask the owner to allow it: flotilla permissions explain says which line of config/permissions.json denies it, flotilla permissions set changes it.',
  },
  'human-only': {
    status: 403,
    title: 'Only a person at the terminal or the dashboard can do this',
    retryable: false,
    repair:
      'Ask the owner to do it at the terminal (flotilla --help lists what there is); it cannot be asked for or approved in a conversation.',
  },
  'model-not-allowed': {
    status: 403,
    title: 'This agent may not use that model',
    retryable: false,
    repair:
      'Use a model that GET /v1/models lists, or ask the owner to add this one to agents.*.models of config/settings.json.',
  },
  'proof-wanted': {
    status: 403,
    title: 'The owner’s proof is wanted before this',
    retryable: false,
    repair:
      'Run flotilla proof in a terminal of the machine, and type the code that it prints into the page.',
  },
  'host-refused': {
    status: 403,
    title: 'That Host or Origin is refused on this API',
    retryable: false,
    repair:
      'Call the API directly on 127.0.0.1 or localhost and its port (flotilla status), not through a proxy; for other machines set FLOTILLA_PUBLIC_BIND.',
  },
  'credential-refused': {
    status: 403,
    title: 'This credential is not filled in there',
    retryable: false,
    repair: 'Send it to a host that it is bound to, or ask the owner: flotilla credentials bind NAME HOST.',
  },
  'address-refused': {
    status: 403,
    title: 'That address is not public',
    retryable: false,
    repair:
      'Only public addresses can be reached. An owner opens one of their own with its exact host:port in egress.allowed_private of config/settings.json.',
  },
  'port-refused': {
    status: 403,
    title: 'That port is not open to agents',
    retryable: false,
    repair:
      'Use one of the ports that the detail names, or ask the owner to add this one to egress.allowed_ports of config/settings.json.',
  },
  'name-unresolved': {
    status: 403,
    title: 'That name has no address',
    retryable: false,
    repair:
      'Check the spelling; where it is right, an owner looks at egress.dns_servers of config/settings.json and at the name servers of the machine.',
  },
  'destination-refused': {
    status: 403,
    title: 'This agent may not go to that host',
    retryable: false,
    repair: 'Ask the owner to add the host to egress.allowed_hosts of config/settings.json.',
  },
  'not-found': {
    status: 404,
    title: 'There is no such thing, or you may not know of it',
    retryable: false,
    repair:
      'Check the id: flotilla status lists agents, flotilla runs the runs, flotilla webhooks list the webhooks, flotilla changes what can be undone; tasks are listed by flotilla tasks.',
  },
  'proxy-unauthenticated': {
    status: 407,
    title: 'The forward proxy was not shown a token',
    retryable: false,
    repair: 'Use HTTP_PROXY and HTTPS_PROXY as the environment of an agent has them.',
  },
  'credential-unknown': {
    status: 404,
    title: 'There is no such credential, or you may not use it',
    retryable: false,
    repair: 'Name one that vault_list gives, or ask the owner with request_credential.',
  },
  conflict: {
    status: 409,
    title: 'The state does not allow this',
    retryable: false,
    repair:
      'See what stands now (flotilla status, flotilla runs, flotilla pending), and ask for what the detail leaves possible.',
  },
  'home-in-use': {
    status: 409,
    title: 'Another process works on this home',
    retryable: true,
    repair:
      'See it with flotilla status once it answers, end it with flotilla stop, or name another home with --home.',
  },
  'home-unusable': {
    status: 500,
    title: 'The home cannot be made or used',
    retryable: false,
    repair:
      'Name a folder of a plain disk that the user of the mesh may write to, with --home or FLOTILLA_HOME, or make room for this one.',
  },
  'wrong-home': {
    status: 409,
    title: 'The mesh that answers is the one of another home',
    retryable: false,
    repair:
      'Name the home of that mesh with --home, or start the mesh of the home you mean on another port: flotilla start -d --home HOME --port PORT.',
  },
  'webhook-full': {
    status: 503,
    title: 'This webhook remembers as many bodies as it can, and cannot tell a new one from a replay',
    retryable: false,
    repair:
      'See its history with flotilla webhooks deliveries HOOK; room is made by signatures of id and moment, by repeats: accept, or by another webhook.',
  },
  'webhook-disabled': {
    status: 409,
    title: 'This webhook is switched off',
    retryable: false,
    repair: 'Ask the owner to switch it on: true in the field enabled of PATCH /api/webhooks/HOOK.',
  },
  'stale-fence': {
    status: 409,
    title: 'This run has been taken over',
    retryable: false,
    repair:
      'Stop working on this run; a newer attempt with a higher x-run-fence owns it (flotilla runs shows which).',
  },
  'version-conflict': {
    status: 409,
    title: 'The entry has another version',
    retryable: false,
    repair:
      'Read the entry again (flotilla blackboard) and write over the version that it has then, in the field expected_version.',
  },
  'outcome-unknown': {
    status: 409,
    title: 'This call began earlier and its outcome is unknown',
    retryable: false,
    repair:
      'Look whether it happened (flotilla runs shows the call), before doing it again under a new Idempotency-Key.',
  },
  'approval-changed': {
    status: 409,
    title: 'This is not what was asked for',
    retryable: false,
    repair: 'Look at it again (flotilla pending), and confirm what it shows now.',
  },
  'approval-used': {
    status: 409,
    title: 'This has been decided already',
    retryable: false,
    repair: 'See what became of it: flotilla pending --all. Ask again where it is still wanted.',
  },
  'edit-overtaken': {
    status: 409,
    title: 'Something else stands there now',
    retryable: false,
    repair: 'Look at what stands there now (flotilla changes), and change that.',
  },
  'undo-overtaken': {
    status: 409,
    title: 'The value was changed again since',
    retryable: false,
    repair: 'Compare the value now with the one you want (flotilla changes), and edit it.',
  },
  'undo-used': {
    status: 409,
    title: 'This change was undone already',
    retryable: false,
    repair: 'See what it is now with flotilla changes, and edit it where it is not what you want.',
  },
  'hand-off-refused': {
    status: 409,
    title: 'This hand-off would loop or go too deep',
    retryable: false,
    repair:
      'Do the work here, or hand it to an agent outside the chain (who works for whom: flotilla tasks).',
  },
  'agent-busy': {
    status: 409,
    title: 'The agent works on another run',
    retryable: true,
    repair: 'Wait for its run to end (flotilla runs), or say it to the run: flotilla steer AGENT TEXT.',
  },
  'approval-expired': {
    status: 410,
    title: 'Nobody confirmed this in time',
    retryable: false,
    repair: 'Have it asked for again where it is still wanted; flotilla pending --all shows what it was.',
  },
  'undo-expired': {
    status: 410,
    title: 'This change can no longer be undone',
    retryable: false,
    repair: 'Edit the value instead; flotilla changes shows what it was.',
  },
  'body-too-large': {
    status: 413,
    title: 'The body is too large',
    retryable: false,
    repair:
      'Send less than the detail allows; a long text goes to an agent as a file (flotilla put AGENT FILE) that a short message names.',
  },
  'unsupported-encoding': {
    status: 415,
    title: 'The body is packed',
    retryable: false,
    repair: 'Send the body as it is, without Content-Encoding.',
  },
  'skill-rejected': {
    status: 422,
    title: 'The source is not a skill that may run',
    retryable: false,
    repair:
      'Mend what each fault names, at its line and column, and send the whole source again in the field source.',
  },
  unprocessable: {
    status: 422,
    title: 'The request is well formed and cannot be carried out',
    retryable: false,
    repair:
      'Change what the detail names; flotilla doctor checks the files of the home, and flotilla COMMAND --help says what a command takes.',
  },
  'model-unpriced': {
    status: 422,
    title: 'No price is known for that model',
    retryable: false,
    repair: 'Set its price under models in config/settings.json, or declare it local.',
  },
  'lane-full': {
    status: 429,
    title: 'This agent has too much work queued',
    retryable: true,
    repair: 'Wait for queued runs to end (flotilla runs), or cancel some: flotilla cancel RUN.',
  },
  'approvals-full': {
    status: 429,
    title: 'Too much waits for a person already',
    retryable: true,
    repair: 'Have the owner decide what waits: flotilla pending.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many calls',
    retryable: true,
    repair:
      'Wait as long as the header Retry-After says; for agents the owner sets rate_limits in config/settings.json.',
  },
  ...agentProblems,
  ...walletProblems,
  ...modelProblems,
  ...runProblems,
  'upstream-failed': {
    status: 502,
    title: 'The far end failed',
    retryable: true,
    repair: 'Try again later; flotilla models shows how models do, flotilla runs RUN what a run met.',
  },
  'mesh-unreachable': {
    status: 503,
    title: 'No mesh answers there',
    retryable: true,
    repair: 'Start one with: flotilla start -d (or name another with --home, --port or --url).',
  },
  'agent-unavailable': {
    status: 503,
    title: 'The agent cannot be started or reached',
    retryable: true,
    repair: 'See flotilla status and flotilla doctor.',
  },
  'fleet-paused': {
    status: 503,
    title: 'Agents are not run because a wall does not hold',
    retryable: true,
    repair: 'Run flotilla doctor and mend what it names; flotilla walls tries the walls again.',
  },
  'isolation-unavailable': {
    status: 503,
    title: 'The isolation that an agent requires cannot be had',
    retryable: false,
    repair: 'Run flotilla doctor: it says what is missing, and tries it again.',
  },
  'not-configured': {
    status: 503,
    title: 'This part is not set up',
    retryable: false,
    repair:
      'Set what the detail names in .env or config/settings.json of the home; flotilla doctor tells what is missing.',
  },
  'mesh-secret-refused': {
    status: 503,
    title: 'The secret of this home is missing, or is not its own',
    retryable: false,
    repair:
      'Put data/mesh-secret of the home back from a backup. Where there is none, flotilla journal begin-anew makes another, and what the journal says so far is told as accepted by you.',
  },
  'disk-full': {
    status: 507,
    title: 'The disk of the mesh is full',
    retryable: true,
    repair:
      'Free some space where the home is (flotilla doctor says how much there is); nothing that was accepted is lost.',
  },
  'data-full': {
    status: 507,
    title: 'The data of the agent has reached its size limit',
    retryable: false,
    repair:
      'Delete what is not needed below /data, or raise data_limit_mb in config/settings.json and restart the agent.',
  },
  'upstream-timeout': {
    status: 504,
    title: 'The far end took too long',
    retryable: true,
    repair: 'Try again later; flotilla models shows how models do, flotilla runs RUN what a run met.',
  },
  'internal-error': {
    status: 500,
    title: 'Something failed inside',
    retryable: true,
    repair: 'See the log of the mesh (data/mesh.log in the home) under request_id, and run flotilla doctor.',
  },
  'client-gone': {
    status: 499,
    title: 'The client hung up before it was answered',
    retryable: true,
    repair:
      'Ask again, and wait for the answer; where the client was an agent, flotilla runs shows why it ended.',
  },
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof problemCatalog

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(problemCatalog, code)
}
