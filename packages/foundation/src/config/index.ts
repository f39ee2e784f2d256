/** Files that the owner writes, and their paths. */

export { agentSettingEdits, agentSettingsOf, agentSettingsSchema } from './agent-settings.ts'
export type { AgentSettings } from './agent-settings.ts'
export { answerKinds, thinkingEfforts } from './answer-settings.ts'
export type { AnswerKind, AnswerSettings, ThinkingEffort } from './answer-settings.ts'
export { readAccessToken } from './access-token.ts'
export {
  createFileEditor,
  isMissing,
  moveIntoPlace,
  namesIn,
  readTextFile,
  sameStamp,
  setFileMode,
  stageText,
  stampOf,
  syncFolder,
  writeFileAtomically,
} from './atomic-file.ts'
export type { FileEditor, FileStamp, StagedText } from './atomic-file.ts'
export { captchaRanges } from './captcha-settings.ts'
export type { CaptchaSettings } from './captcha-settings.ts'
export type { Retention } from './retention-settings.ts'
export { backupsFolder, dataPaths } from './data-paths.ts'
export type { DataPaths } from './data-paths.ts'
export { environmentOnlyNames } from './environment-only.ts'
export { homeOf, readEnvironment, readWhatHolds } from './environment.ts'
export type { Environment } from './environment.ts'
export { inspectedHost } from './host-pattern.ts'
export { followFile } from './follow-file.ts'
export { formatIssue } from './format-issue.ts'
export { hostPattern } from './host-pattern.ts'
export { homeIdPath, openHomeFolder } from './home-folder.ts'
export type { HomeFolder } from './home-folder.ts'
export { isHeldByMesh, lockHome } from './home-lock.ts'
export type { OtlpSettings, TraceSampling } from './otlp-environment.ts'
export { noProxies } from './proxy-environment.ts'
export type { ProxyRules } from './proxy-environment.ts'
export { readJsonDocument } from './json-document.ts'
export type { JsonDocument } from './json-document.ts'
export { lastPorts } from './last-ports.ts'
export { isolationWish } from './isolation-wish.ts'
export { awayWords, createDeviceGuard } from './device-guard.ts'
export { dataLimitBytes, defaultSettings, hibernateAfterMs, readSettingsFile } from './settings-file.ts'
export type { AgentSizeSettings } from './agent-size-settings.ts'
export type { ProviderSettings, Settings } from './settings-file.ts'
export { modelEntries, modelSettingsOf } from './model-settings.ts'
export type { ModelSettings } from './model-settings.ts'
export { removeUnfinishedWrites } from './unfinished-writes.ts'
export { isRestoreUnfinished, wipeUnfinishedRestore } from './unfinished-restore.ts'
export { watchSettings } from './watch-settings.ts'
export type { SettingsFile } from './watch-settings.ts'
export { addToYamlList } from './add-to-yaml-list.ts'
export { readYamlDocument, yamlForm, yamlText } from './yaml-document.ts'
export type { YamlDocument } from './yaml-document.ts'
