import type { PeopleEndpointName } from '@flotilla/client/people-api'

/** For each call that may need the owner's code: its permanent effects, and how to undo the others. */
export const proofWords = {
  pendingConfirm:
    'What you approve happens immediately. It cannot be undone where it removes data; the summary above says what it removes.',
  agentDelete: 'The agent is deleted with its data and artifacts, and cannot be restored.',
  agentCreate:
    'This creates an agent with more permissions than the operator could grant. You can revoke them, or archive the agent, at any time.',
  agentEdit: 'The agent may do more or less from now on. You can undo this for half an hour, under Changes.',
  setAgentHarness:
    'The next run of the agent is driven by this program, in its container. You can change it at any time.',
  setAgentImage:
    'The next run of the agent uses the programs of this image. You can use the image of every agent again at any time.',
  setAgentPackages:
    'The next run of the agent uses an image with these packages. You can replace the list at any time.',
  changeUndo:
    'This undoes a change, and may give the agent more permissions again. You can make the change again.',
  budgetSet: 'More can be spent from now on. You can lower it again at any time; what was spent is spent.',
  agentProjectSet:
    'The agent leaves a budget that limits it. You can add it again; what it spends meanwhile is spent.',
  projectManage:
    'Agents leave a budget that limits them. You can add them again; what they spend meanwhile is spent.',
  projectDelete: 'The project is deleted with all its data, and cannot be restored.',
  factForget: 'The agent forgets it permanently. You can tell it again.',
  journalAccept:
    'Your acceptance of the broken journal is recorded permanently. It does not restore what was changed.',
  backupMake:
    'The whole home is written into one file on the disk of the mesh, encrypted with your passphrase. You can remove the file in a terminal.',
  walletInit:
    'This creates a wallet and shows its words only once. Anyone who has them controls all its funds.',
  walletImport:
    'The wallet of this home is the one of these words from now on. It changes only while no agent has an address.',
  walletPaymentReplace:
    'Another transaction with the same nonce is signed and sent. Only one of both is confirmed; it and its fee are final.',
  walletResume:
    'The wallet signs again. If another program still pays from the same seed, payments of both can replace each other.',
  webhookCreate: 'Anyone who knows the address can start the agent. You can require signatures at any time.',
  webhookChange:
    'Without signatures, anyone who knows the address can start the agent. You can require them again at any time.',
  webhookDelete:
    'The webhook is deleted with its secret and history, and cannot be restored. You can create another one, with another address.',
  webhookRotate: 'The old secret expires after its grace period, and cannot be restored.',
  setupProvider:
    'Prompts may go somewhere else from now on. You can choose another model, or forget this provider, at any time.',
  setupProviderRemove: 'Its key and address are deleted. You can enter them again.',
  channelAdd:
    'People that you pair or link can talk to agents on that platform. You can remove the channel at any time.',
  channelRemove:
    'The channel is switched off, its tokens are deleted, and waiting messages are not sent. You can add it again.',
  channelPair:
    'The account that sends the code first acts as you on that platform. You can unlink it at any time; what it did meanwhile stays.',
  personAdd:
    'Another person may do what their role lets them. You can change that, or remove them, at any time.',
  personChange:
    'The person may do more or less from now on. You can change it back; what they did meanwhile stays.',
  personRemove: 'Their token is revoked permanently. You can add them again, with another token.',
  personRotate: 'Their current token is revoked permanently. They need the new one.',
  credentialSet: 'The previous value under this name is lost. You can set another at any time.',
  credentialRemove: 'The value is stored nowhere else, and cannot be restored. You can set it again.',
  credentialBind: 'The value may be sent to these hosts. You can change the hosts; what was sent is sent.',
  credentialUnbind: 'The value is sent nowhere from now on. You can bind it to hosts again at any time.',
  watcherChange:
    'The agent receives the names of files in that folder. You can remove the watcher at any time; names it has received stay known.',
  policyRuleAdd:
    'Matching actions are decided by this rule from now on. You can remove it from config/policy.yaml at any time; what it allowed meanwhile has happened.',
  pendingAlways:
    'The action happens immediately. Afterwards the rule that the page shows is added, which allows such actions without a question. You can remove it from config/policy.yaml at any time; what it allowed meanwhile has happened.',
  templateApply:
    'Agents may get more permissions or new MCP servers. You can change each agent back on its page.',
  templateApplyPlan:
    'Agents may get more permissions or new MCP servers. You can change each agent back on its page.',
} as const satisfies Partial<Record<PeopleEndpointName, string>>

const otherwise = 'Only the owner may decide this, and a page cannot know who uses it.'

/** Pure. */
export function proofWordsOf(name: PeopleEndpointName): string {
  return Object.hasOwn(proofWords, name) ? proofWords[name as keyof typeof proofWords] : otherwise // it has just been found there
}
