// One measurement of llama.cpp through the npm package node-llama-cpp: prefill, then decode behind it.
// Called by peer_model.py with the folder that holds node_modules as working directory.
//   node peer_llama_cpp.mjs MODEL PROMPT_TOKENS OUTPUT_TOKENS THREADS
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";
import path from "node:path";

const resolve = createRequire(path.join(process.cwd(), "x.js")).resolve;
const {getLlama} = await import(pathToFileURL(resolve("node-llama-cpp")).href);
const [model_path, prompt_tokens, output_tokens, threads] =
    [process.argv[2], ...process.argv.slice(3).map(Number)];

const llama = await getLlama({gpu: false, build: "never", logLevel: "disabled", maxThreads: threads});
const model = await llama.loadModel({modelPath: model_path});
const context = await model.createContext({
  contextSize: prompt_tokens + output_tokens + 64, batchSize: prompt_tokens, sequences: 1,
  flashAttention: true, threads: {ideal: threads, min: threads}});
const sequence = context.getSequence();

// The same ids as `foretoken bench model` takes, so the same work.
const vocabulary = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
const ids = [];
for (let state = 1n, i = 0; i < prompt_tokens; ++i) {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  ids.push(Number((state >> 33n) % BigInt(vocabulary)));
}

async function round(prompt, output) {
  await sequence.clearHistory();
  const start = performance.now();
  const tokens = sequence.evaluate(prompt, {temperature: 0, yieldEogToken: true});
  await tokens.next();
  const prefilled = performance.now();
  let count = 0;
  for (; count < output; ++count) {
    if ((await tokens.next()).done) break;
  }
  return {prefill_s: (prefilled - start) / 1000, decode_s: (performance.now() - prefilled) / 1000, count};
}
await round(ids.slice(0, 16), 1);
const r = await round(ids, output_tokens);
if (r.count !== output_tokens) throw new Error(`decoding ended after ${r.count} tokens`);
console.log(JSON.stringify({
  prefill_tokens_per_s: prompt_tokens / r.prefill_s,
  decode_tokens_per_s: output_tokens / r.decode_s,
  cpu_math: llama.cpuMathCores, system: llama.systemInfo}));
process.exit(0);
