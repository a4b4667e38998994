import { imports } from './chaos/imports/story.ts';
import { partsOf } from './chaos/stage.ts';
const sizes = { seed: 1, imports: 0, rows: 0, processes: 1, kills: 0, redisKills: 0 };
process.env.ZZ='1';
const stage = await imports.set(sizes as never, 'plan-not-bounded');
setTimeout(()=>{ console.log(stage.fleet.gateways[0]!.output().split('\n').filter(l=>!/"audit"|"request"/.test(l)).join('\n').slice(-3000)); process.exit(0); }, 6000);
await imports.acts['bounded-deletes']!(stage, sizes as never).catch(String);
