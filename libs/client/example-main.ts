import { loadProfile, openApi, orderJob, sealFiles, takeResult } from '#libs/client';

const [manifest, images, labels, out] = process.argv.slice(2) as [string, string, string, string];
const profile = loadProfile();
const api = openApi(profile);
const dataset = `${out}/data`;
const key = `${profile.broker.keysFolder}/example.json`;
await sealFiles({ manifest, images, labels, out: dataset, key }, { onProgress: console.log });
const order = { manifest, dataset, segmentSteps: 8, rewardWei: 10n ** 18n };
const { jobId } = await orderJob(order, profile, api);
const taken = await takeResult(jobId, `${out}/result`, profile, api, ({ type }) => console.log(type));
console.log(taken.stateDigest, taken.verdict.tier);
