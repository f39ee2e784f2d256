import type { PeopleEndpointName } from '@flotilla/client/people-api'

/** Of each call that may want the owner's proof: what it does for good, and how what can be undone is undone. */
export const proofWords = {
  pendingConfirm:
    'What you approve happens at once. Taking the approval back does not bring back what it removed: that stands in what you were just shown.',
  agentDelete: 'The agent goes with its data and its artifacts, and cannot be brought back.',
  agentCreate:
    'An agent that may more than the operator could give it is made. You can take its permissions away, or archive it, at any time.',
  agentEdit: 'The agent may do more or less from now on. You can undo this for half an hour, under Changes.',
  changeUndo: 'This takes a change back, and may let the agent do more again. The change can be made anew.',
  budgetSet: 'More can be spent from now on. You can lower it again at any time; what was spent is spent.',
  agentProjectSet:
    'The agent leaves a budget that holds it. You can let it in again; what it spends meanwhile is spent.',
  projectManage:
    'Agents leave a budget that holds them. You can let them in again; what they spend meanwhile is spent.',
  projectDelete: 'The project goes with all that it kept to itself, and cannot be brought back.',
  factForget: 'The agent forgets it for good. You can tell it anew.',
  journalAccept:
    'That you went on with a broken journal is written down for good. It mends nothing of what was changed.',
  backupMake:
    'The whole home is written into one file on the disk of the mesh, closed by the passphrase that you gave. You can remove the file in a terminal.',
  walletInit:
    'A wallet is made, and its words are shown this once. Whoever has them has all money that it will hold.',
  walletImport:
    'The wallet of this home is the one of these words from now on. It changes only while no agent has an address.',
  walletPaymentReplace:
    'Another transaction of the same number is signed and sent. Whichever of both lands is for good, and so is its fee.',
  walletResume:
    'The wallet signs again. If another program still pays from the same seed, payments of both can take each other’s place.',
  webhookCreate: 'Anybody who knows the address can wake the agent. You can ask for signatures at any time.',
  webhookChange:
    'Without signatures, anybody who knows the address can wake the agent. You can ask for them again at any time.',
  webhookDelete:
    'The webhook goes with its secret and its history, and cannot be brought back. You can make another, under another address.',
  webhookRotate: 'The old secret ends when its time of grace is over, and cannot be brought back.',
  setupProvider:
    'Prompts may go somewhere else from now on. You can choose another model, or forget this provider, at any time.',
  setupProviderRemove:
    'Its key and its address are forgotten, and nothing shows the key again. You can give them anew.',
  channelAdd:
    'Agents can be spoken to on that platform from now on, by whom you pair and link. You can remove the channel at any time.',
  channelRemove:
    'The channel is off, its tokens are forgotten, and what waited to be told there is not told. You can add it anew.',
  channelPair:
    'Whoever sends the code first is you on that platform from then on. You can unlink them at any time; what they did meanwhile stays.',
  personAdd:
    'Another person may do what their role lets them. You can change that, or remove them, at any time.',
  personChange:
    'The person may do more or less from now on. You can change it back; what they did meanwhile stays.',
  personRemove: 'Their token ends for good. You can add them anew, with another token.',
  personRotate: 'Their token of now ends for good. They need the new one.',
  credentialSet: 'A value that was kept under this name is gone for good. You can set another at any time.',
  credentialRemove: 'The value is kept nowhere else, and cannot be brought back. You can set it anew.',
  credentialBind: 'The value may be sent to these hosts. You can change the hosts; what was sent is sent.',
  credentialUnbind: 'The value is sent nowhere from now on. You can bind it to hosts again at any time.',
  watcherChange:
    'The agent is told the names of files in that folder from now on. You can take the watcher away at any time; what was told is told.',
  templateApply:
    'Agents may do more, or take up MCP servers. You can change each of them back on its own page.',
  templateApplyPlan:
    'Agents may do more, or take up MCP servers. You can change each of them back on its own page.',
} as const satisfies Partial<Record<PeopleEndpointName, string>>

const otherwise = 'A page cannot tell who sits at it, and this is the owner’s to decide.'

/** Pure. */
export function proofWordsOf(name: PeopleEndpointName): string {
  return Object.hasOwn(proofWords, name) ? proofWords[name as keyof typeof proofWords] : otherwise // it has just been found there
}
