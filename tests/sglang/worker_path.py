"""Tests of speculative_disable_batch_threshold on the CPU. One argument: the patched tree's python/ folder.

They run on several releases. What differs between these is told from the modules, in one place after the imports.

Real: EAGLEWorkerV2, verify, draft extend, TpModelWorker's forward, ForwardBatch, the masks before sampling, FutureMap, the rule
by which a CUDA graph can run, the scheduler's reading of the result, and the Triton kernels (interpreted). Fake: the two models
and the tree of draft tokens. The target model reads its whole context from the KV slots. The draft model predicts the target's
next token, but only if its own KV slots hold the right tokens and hidden states. So one wrong slot or position shows.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.abc
import importlib.machinery
import inspect
import json
import logging
import os
import sys
import tempfile
import traceback
import warnings
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

os.environ |= {"TRITON_INTERPRET": "1", "TORCHDYNAMO_DISABLE": "1", "HF_HUB_OFFLINE": "1"}
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.realpath(sys.argv[1]))


class _StandInType(type):
    """Types of a missing package: usable as bases and in annotations."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandInType(name, (), {})


class _StandIn(ModuleType):
    """A module that this machine cannot load."""

    __version__ = "0.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandInType(name, (), {})


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] in {"sgl_kernel", "torchvision"}:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


sys.meta_path.insert(0, _StandIns())

import torch  # noqa: E402
from sglang.srt import server_args as server_args_module  # noqa: E402
from sglang.srt.layers.logits_processor import LogitsProcessorOutput  # noqa: E402
from sglang.srt.layers.sampler import Sampler  # noqa: E402
from sglang.srt.managers.overlap_utils import FutureMap  # noqa: E402
from sglang.srt.managers.schedule_batch import ModelWorkerBatch, Req  # noqa: E402
from sglang.srt.managers.scheduler_output_processor_mixin import SchedulerOutputProcessorMixin  # noqa: E402
from sglang.srt.managers.tp_worker import TpModelWorker  # noqa: E402
from sglang.srt.managers.utils import GenerationBatchResult  # noqa: E402
from sglang.srt.mem_cache.memory_pool import ReqToTokenPool  # noqa: E402
from sglang.srt.model_executor import forward_batch_info  # noqa: E402
from sglang.srt.model_executor.cuda_graph_runner import CudaGraphRunner  # noqa: E402
from sglang.srt.model_executor.forward_batch_info import CaptureHiddenMode, ForwardMode  # noqa: E402
from sglang.srt.model_executor.model_runner import ModelRunner  # noqa: E402
from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo  # noqa: E402
from sglang.srt.server_args import ServerArgs, prepare_server_args  # noqa: E402
from sglang.srt.speculative import eagle_info_v2, eagle_worker_v2  # noqa: E402
from sglang.srt.speculative.eagle_info import EagleDraftInput, EagleVerifyInput  # noqa: E402
from sglang.srt.speculative.eagle_worker_v2 import EagleDraftWorker, EAGLEWorkerV2  # noqa: E402
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

STEPS = 3
STRIDE = STEPS + 1
VOCAB = 101
TARGET_HIDDEN = 6  # EAGLE-3: several layers of the target model side by side
DRAFT_HIDDEN = 2
MAX_BATCH = 8
CONTEXT = 64

Tokens = list[int]

# What differs between the releases.


def field_names(type_: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(type_)]


BONUS_TOKENS = "bonus_tokens" if "bonus_tokens" in field_names(EagleDraftInput) else "verified_id"
ACCEPTED_DRAFTS = "num_correct_drafts" if "num_correct_drafts" in field_names(GenerationBatchResult) else "num_accepted_tokens"
HISTOGRAM = next(name for name in dir(Req) if name.startswith("update_spec_") and name.endswith("_histogram"))
RESOLVE = next(name for name in dir(SchedulerOutputProcessorMixin) if name.startswith("_resolve_spec_overlap_token"))
TREE_LINKS = [name for name in field_names(EagleVerifyInput) if name.startswith("retri")]
PENALTIES = [name for name in field_names(SamplingBatchInfo) if name.startswith("acc_")]
# Whether a decode counts the slot of its first token as committed before it runs
CLAIMS_SLOT = "kv_committed_len += 1" in inspect.getsource(EagleDraftInput.prepare_for_decode)
VERIFY_APPLIES_PENALTIES = PENALTIES[0] in inspect.getsource(EagleVerifyInput.sample)
VERIFY_MAKES_LOGPROBS = "return_logprob" in inspect.getsource(EAGLEWorkerV2.verify)
VERIFY_STORES_MAMBA_STATES = hasattr(EAGLEWorkerV2, "_mamba_verify_update")
STANDALONE_TAKES_NO_HIDDEN_STATES = hasattr(EagleDraftInput, "hidden_size_for")


def next_token(tokens: Tokens) -> int:
    """The target model: any function of the context, less the first token, which an EAGLE draft model never sees."""
    state = 7
    for token in tokens[1:]:
        state = (state * 31 + token + 1) % 9973
    return state % VOCAB


def hidden_state(tokens: Tokens) -> Tokens:
    """What the target model captures for the last of these tokens."""
    return [len(tokens), tokens[-1], next_token(tokens), 1, 2, 3]


def one_hot(tokens: Tokens) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(tokens, dtype=torch.int64), VOCAB).float() * 20


# What needs a GPU, replaced by the same thing in torch.


def accept_chain(predicts: torch.Tensor, accept_index: torch.Tensor, accept_token_num: torch.Tensor, **tree: torch.Tensor) -> Any:
    """verify_tree_greedy for topk = 1."""
    for i, (drafts, targets) in enumerate(zip(tree["candidates"].tolist(), tree["target_predict"].tolist(), strict=True)):
        accepted = 0
        while accepted < STEPS and drafts[accepted + 1] == targets[accepted]:
            accepted += 1
        for k in range(accepted + 1):
            predicts[i * STRIDE + k] = targets[k]
            accept_index[i, k] = i * STRIDE + k
        accept_token_num[i] = accepted
    return predicts, accept_index, accept_token_num


recorded: list[torch.Tensor] = []
order: list[object] = []  # what was done: tensors that `Order` saw made, events that were recorded


class Event:
    """An event of a stream."""

    def record(self) -> None:
        """Note when."""
        order.append(self)

    def synchronize(self) -> None:
        """Nothing runs behind."""


class Order(TorchDispatchMode):
    """Notes the tensors that are made while it is active."""

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator."""
        order.append(func(*args, **(kwargs or {})))
        return order[-1]


vars(forward_batch_info).update(enable_num_token_non_padded=lambda *_: False)
vars(eagle_info_v2).update(_is_cuda=True, verify_tree_greedy_func=accept_chain)  # the kernels run, interpreted
vars(eagle_worker_v2).update(speculative_moe_backend_context=nullcontext, speculative_moe_a2a_backend_context=nullcontext)
torch.Tensor.record_stream = lambda self, _stream: recorded.append(self)
torch.cpu.Event = Event


class Runner(ModelRunner):
    """A model runner whose model is a function of the tokens in its KV slots."""

    device = "cpu"
    tp_group = None
    token_to_kv_pool = None
    model_is_mrope = False
    is_hybrid_swa = False
    use_ngram_embedding = False
    hybrid_gdn_config = None
    mamba2_config = None
    spec_algorithm = SpeculativeAlgorithm.EAGLE3
    model_config = SimpleNamespace(spec_hidden_size=DRAFT_HIDDEN, dtype=torch.bfloat16)
    graph_runner: Any = None

    def __init__(self, server_args: ServerArgs, pool: ReqToTokenPool) -> None:
        self.server_args = server_args
        self.req_to_token_pool = pool
        self.attn_backend = SimpleNamespace(init_forward_metadata=lambda _batch: None)
        self.slots: dict[int, Any] = {}
        self.batches: list[Any] = []

    def context(self, batch: Any, request: int, position: int) -> list[Any]:
        """The content of a request's slots up to a position."""
        slots = self.req_to_token_pool.req_to_token[batch.req_pool_indices[request], : position + 1]
        return [self.slots[slot] for slot in slots.tolist()]

    def rows(self, batch: Any) -> list[tuple[int, int]]:
        """(request, position) of each input token."""
        if batch.forward_mode.is_idle():
            return []
        counts = batch.extend_seq_lens_cpu or [len(batch.input_ids) // batch.batch_size] * batch.batch_size
        rows = [request for request, count in enumerate(counts) for _ in range(count)]
        assert len(rows) == len(batch.input_ids) == len(batch.positions) == len(batch.out_cache_loc)
        return list(zip(rows, batch.positions.tolist(), strict=True))

    def forward(self, batch: Any, **_: object) -> Any:
        """One pass. A graph replays only what it was captured for."""
        sizes = batch.global_num_tokens_cpu
        self.batches.append(dataclasses.replace(batch, global_num_tokens_cpu=sizes and list(sizes)))
        for i, size in enumerate(sizes or ()):
            sizes[i] = size + size % 2  # in place, as prepare_mlp_sync_batch does, here for attention TP of 2
        graph = bool(batch.forward_mode.is_cuda_graph() and self.graph_runner and self.graph_runner.can_run(batch))
        if graph:
            assert batch.forward_mode.is_idle() or batch.forward_mode.is_target_verify(), "replays a graph captured for verify"
            assert len(batch.input_ids) == batch.batch_size * STRIDE
        logits, hidden = self.run(batch, self.rows(batch))
        if batch.forward_mode == ForwardMode.EXTEND:
            last = torch.cumsum(torch.tensor(batch.extend_seq_lens_cpu), 0) - 1
            logits = logits[last]
            hidden = hidden if batch.capture_hidden_mode.is_full() else hidden[last]
        output = LogitsProcessorOutput(next_token_logits=logits, hidden_states=hidden)
        nothing = {"expert_distribution_metrics": None, "routed_experts_output": None, "indexer_topk_output": None}
        return SimpleNamespace(logits_output=output, can_run_graph=graph, **nothing)

    def run(self, batch: Any, rows: list[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and hidden states, a row for each token."""
        raise NotImplementedError


class TargetRunner(Runner):
    """Fed one token per request, or STRIDE of them to verify."""

    def run(self, batch: Any, rows: list[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and hidden states, a row for each token."""
        assert batch.capture_hidden_mode.need_capture()
        if batch.forward_mode.is_decode():
            assert batch.spec_info is None, "attention backends take a decode with spec_info for a draft"
            assert batch.seq_lens.tolist() == batch.seq_lens_cpu.tolist() == [position + 1 for _, position in rows]
            assert batch.seq_lens_sum == sum(batch.seq_lens.tolist())
        self.slots.update(zip(batch.out_cache_loc.tolist(), batch.input_ids.tolist(), strict=True))
        contexts = [self.context(batch, *row) for row in rows]
        hidden = torch.tensor([hidden_state(tokens) for tokens in contexts], dtype=torch.bfloat16)
        return one_hot([next_token(tokens) for tokens in contexts]), hidden.reshape(-1, TARGET_HIDDEN)

    def sampler(self, output: LogitsProcessorOutput, sampling_info: Any, return_logprob: bool, *wanted: Any) -> torch.Tensor:
        """Greedy."""
        tokens = torch.argmax(output.next_token_logits, -1)
        if return_logprob:
            top_numbers, token_ids, _positions = wanted
            logprobs = torch.log_softmax(output.next_token_logits, -1)
            Sampler._attach_logprobs_to_output(None, output, logprobs, top_numbers, token_ids, sampling_info, tokens)
        return tokens


class DraftRunner(Runner):
    """Fed tokens and the target's hidden states."""

    def run(self, batch: Any, rows: list[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and hidden states, a row for each token."""
        hidden = batch.spec_info.hidden_states
        assert hidden.shape == (len(rows), TARGET_HIDDEN)
        pairs = zip(batch.input_ids.tolist(), hidden.tolist(), strict=True)
        self.slots.update(zip(batch.out_cache_loc.tolist(), pairs, strict=True))
        guesses = [guess(self.context(batch, *row)) for row in rows]
        return one_hot(guesses), torch.full((len(rows), DRAFT_HIDDEN), 3, dtype=torch.bfloat16)


def guess(context: list[tuple[int, Tokens]]) -> int:
    """The target's next token, if the draft model's own KV is complete; else something wrong."""
    tokens = [0] + [token for token, _ in context]
    expected = [hidden_state(tokens[: n + 1])[2:] for n in range(1, len(context))]
    seen = [hidden[2:] for _, hidden in context[1:]]
    return next_token(tokens) if seen == expected else (next_token(tokens) + 1) % VOCAB


class DraftWorker(EagleDraftWorker):
    """Drafts a chain; the draft extends are the real ones."""

    def __init__(self, runner: DraftRunner) -> None:
        self.device = "cpu"
        self.speculative_algorithm = SpeculativeAlgorithm.EAGLE3
        self.topk, self.speculative_num_steps, self.speculative_num_draft_tokens = 1, STEPS, STRIDE
        self.draft_runner = runner
        self.draft_tp_context = lambda _group: nullcontext()
        self.plan_stream, self.plan_stream_ctx = None, nullcontext()
        self.cuda_graph_runner_for_draft_extend = None
        self.drafted: list[int] = []

    def draft(self, batch: ModelWorkerBatch) -> EagleVerifyInput:
        """The first draft token from the draft input, the others right if the first is."""
        state = batch.spec_info
        bs = len(batch.seq_lens)
        self.drafted.append(bs)
        chains: list[Tokens] = []
        for i in range(bs):
            context = self.draft_runner.context(batch, i, int(batch.seq_lens[i]) - 1)
            known = [0] + [token for token, _ in context]
            bonus = int(getattr(state, BONUS_TOKENS)[i])
            assert known[-1] == bonus
            chain = [bonus, int(state.topk_index[i, 0])]
            while len(chain) < STRIDE:
                chain.append(next_token(known + chain[1:]))
            chains.append(chain)
        tree = torch.arange(bs * STRIDE).reshape(bs, STRIDE)
        return EagleVerifyInput(
            draft_token=torch.tensor(chains, dtype=torch.int64).flatten(),
            custom_mask=torch.ones(0, dtype=torch.bool),
            positions=(batch.seq_lens[:, None] + torch.arange(STRIDE)).flatten(),
            **{name: None if name.endswith("cum_len") else tree for name in TREE_LINKS},
            spec_steps=STEPS, topk=1, draft_token_num=STRIDE, capture_hidden_mode=None, seq_lens_sum=None, seq_lens_cpu=None,
        )  # fmt: skip


class Request:
    """What the scheduler's output processor needs of a request."""

    is_retracted = False

    def __init__(self, index: int, row: int) -> None:
        self.rid = str(index)
        self.row = row  # in the pool: not its place in the batch
        self.prompt = [index + 1, 5, 11 * index % VOCAB][: 2 + index % 2]
        self.output: Tokens = []
        self.kv_committed_len = self.spec_verify_ct = self.spec_accepted_tokens = self.spec_num_correct_drafts = 0
        self.spec_acceptance_histogram: list[int] = []
        self.spec_correct_drafts_histogram: list[int] = []
        self.grammar: Any = None

    def expected(self) -> Tokens:
        """Greedy decoding, step by step."""
        tokens = list(self.prompt)
        while len(tokens) < len(self.prompt) + len(self.output):
            tokens.append(next_token(tokens))
        return tokens[len(self.prompt) :]

    def finished(self) -> bool:
        """Never."""
        return False


setattr(Request, HISTOGRAM, getattr(Req, HISTOGRAM))


class Scheduler(SchedulerOutputProcessorMixin):
    """Runs batches as Scheduler.run_batch does with overlap."""

    def __init__(self, threshold: int, **flags: Any) -> None:
        self.server_args = ServerArgs(
            model_path="dummy", device="cpu", attention_backend="torch_native",
            speculative_algorithm="EAGLE3", speculative_num_steps=STEPS, speculative_eagle_topk=1,
            speculative_num_draft_tokens=STRIDE, speculative_disable_batch_threshold=threshold, **flags,
        )  # fmt: skip
        server_args_module.set_global_server_args_for_scheduler(self.server_args)
        pool = ReqToTokenPool(MAX_BATCH, CONTEXT, "cpu", enable_memory_saver=False)
        table = pool.req_to_token
        table[:] = 1 + torch.randperm(table.numel(), generator=torch.manual_seed(1)).reshape(table.shape)
        self.target, self.draft = TargetRunner(self.server_args, pool), DraftRunner(self.server_args, pool)
        self.target.graph_runner = verify_graphs()

        target_worker = TpModelWorker.__new__(TpModelWorker)
        target_worker.__dict__.update(
            _model_runner=self.target, pp_group=SimpleNamespace(is_last_rank=True), enable_overlap=True, enable_spec=True,
            dllm_algorithm=None, hicache_layer_transfer_counter=None,
            model_config=SimpleNamespace(hidden_size=TARGET_HIDDEN, dtype=torch.bfloat16),
        )  # fmt: skip
        self.worker = EAGLEWorkerV2.__new__(EAGLEWorkerV2)
        self.worker.__dict__.update(
            server_args=self.server_args, device="cpu", topk=1, speculative_num_steps=STEPS, speculative_num_draft_tokens=STRIDE,
            enable_nan_detection=False, req_to_token_pool=pool, plan_stream=None, plan_stream_ctx=nullcontext(),
            _target_worker=target_worker, _draft_worker=DraftWorker(self.draft),
            speculative_algorithm=SpeculativeAlgorithm.EAGLE3, adaptive_controller=None,
        )  # fmt: skip
        self.draft_worker = self.model_worker = self.worker
        self.future_map = FutureMap(MAX_BATCH, 0, CONTEXT, torch.device("cpu"), SpeculativeAlgorithm.EAGLE3)
        self.requests: list[Request] = []
        self.spec_info: Any = None
        self.seq_lens = torch.zeros(0, dtype=torch.int64)

    def prefill(self, count: int) -> Any:
        """New requests: their prompts in one extend."""
        rows = self.target.req_to_token_pool.free_slots[::-1]
        self.requests = [Request(i, rows[i]) for i in range(count)]
        prompts = [request.prompt for request in self.requests]
        self.seq_lens = torch.tensor([len(prompt) for prompt in prompts])
        table = self.target.req_to_token_pool.req_to_token
        for request in self.requests:
            request.kv_committed_len = len(request.prompt)
        result, _ = self.run(
            ForwardMode.EXTEND,
            input_ids=torch.tensor([token for prompt in prompts for token in prompt]),
            out_cache_loc=torch.cat([table[request.row, : len(request.prompt)] for request in self.requests]).long(),
            extend_seq_lens=[len(prompt) for prompt in prompts],
            extend_prefix_lens=[0] * count,
            extend_num_tokens=sum(map(len, prompts)),
        )
        for request, token in zip(self.requests, result.next_token_ids.tolist(), strict=True):
            request.output.append(token)
        return result

    def decode(self, **changes: Any) -> Any:
        """One round. The result, with `state`: the draft input that the future map stored."""
        mode = ForwardMode.DECODE if self.requests else ForwardMode.IDLE
        for request in self.requests:
            request.kv_committed_len += CLAIMS_SLOT
        result, interval = self.run(mode, spec_info=self.spec_info, **changes)
        outputs = getattr(self, RESOLVE)(result, SimpleNamespace(reqs=self.requests))
        for request, tokens in zip(self.requests, outputs, strict=True):
            request.output += tokens
        names = ("topk_p", "topk_index", BONUS_TOKENS, "new_seq_lens", "hidden_states")
        result.state = {name: getattr(self.future_map, f"{name}_buf")[interval] for name in names} if self.requests else {}
        return result

    def run(self, mode: ForwardMode, **changes: Any) -> tuple[Any, slice]:
        """One batch: the result, and where the future map keeps it."""
        batch = self.batch(mode, **changes)
        futures = self.future_map.alloc_future_indices(len(batch.seq_lens))
        if mode.is_decode():
            self.future_map.resolve_future(batch)
        result = self.worker.forward_batch_generation(batch)
        result.copy_done = Event()
        self.future_map.store_to_map(futures, result)
        result.copy_to_cpu(return_logprob=bool(batch.return_logprob))
        self.spec_info = result.next_draft_input
        self.spec_info.future_indices = futures
        self.seq_lens = result.next_draft_input.new_seq_lens
        return result, futures.interval

    def keep(self, count: int) -> None:
        """The other requests finish."""
        self.requests = self.requests[:count]
        self.seq_lens = self.seq_lens[:count]
        self.spec_info.filter_batch(torch.arange(count))

    def batch(self, mode: ForwardMode, **changes: Any) -> ModelWorkerBatch:
        """What get_model_worker_batch gives."""
        bs = len(self.requests)
        fields: dict[str, Any] = dict.fromkeys(field_names(ModelWorkerBatch))
        fields |= {
            "forward_mode": mode,
            "input_ids": torch.zeros(0, dtype=torch.int64),
            "out_cache_loc": torch.zeros(0, dtype=torch.int64),
            "req_pool_indices": torch.tensor([request.row for request in self.requests], dtype=torch.int64),
            "seq_lens": self.seq_lens,
            "seq_lens_cpu": self.seq_lens.clone(),
            "seq_lens_sum": int(self.seq_lens.sum()),
            "spec_algorithm": SpeculativeAlgorithm.EAGLE3,
            "sampling_info": sampling(bs),
            "reqs": self.requests,
            "lora_ids": [None] * bs,
            "hicache_consumer_index": -1,
        }
        return ModelWorkerBatch(**(fields | changes))


def verify_graphs() -> CudaGraphRunner:
    """The target's graphs as captured for verify, as far as can_run looks at them."""
    graphs = CudaGraphRunner.__new__(CudaGraphRunner)
    graphs.__dict__.update(
        require_mlp_tp_gather=False, require_mlp_sync=False, enable_pdmux=False, disable_padding=False, is_encoder_decoder=False,
        enable_two_batch_overlap=False, max_bs=MAX_BATCH, num_tokens_per_bs=STRIDE, capture_hidden_mode=CaptureHiddenMode.FULL,
        model_runner=SimpleNamespace(spec_algorithm=SpeculativeAlgorithm.EAGLE3), replay_prepare=lambda _batch: None,
    )  # fmt: skip
    return graphs


def sampling(bs: int, **changes: Any) -> SamplingBatchInfo:
    ones = torch.ones(bs)
    fields = {"temperatures": ones[:, None], "top_ps": ones, "top_ks": ones.int(), "min_ps": ones * 0, "is_all_greedy": True}
    needs = {"need_top_p_sampling": False, "need_top_k_sampling": False, "need_min_p_sampling": False}
    return SamplingBatchInfo(**(fields | needs | {"vocab_size": VOCAB, "device": "cpu"} | changes))


def in_decode(scheduler: Scheduler) -> Any:
    """The forward batch of the last pass of the target model."""
    return scheduler.target.batches[-1]


def check_outputs(scheduler: Scheduler) -> None:
    """Speculation or not, the tokens are the target model's."""
    for request in scheduler.requests:
        assert request.output == request.expected()
        assert request.kv_committed_len == len(request.prompt) + len(request.output) - 1


def layout(state: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in state.items()}


def raises_value_error(*arguments: str) -> str:
    """The message of the ValueError with which a server with these arguments refuses to start."""
    sizes = dict.fromkeys(("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size"), 8)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "max_position_embeddings": 4096, **sizes}
    with tempfile.TemporaryDirectory() as model:
        with open(os.path.join(model, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        try:
            prepare_server_args(["--model-path", model, "--device", "cpu", *arguments])
        except ValueError as error:
            return str(error)
    return ""


def test_threshold_zero_always_speculates() -> None:
    scheduler = Scheduler(threshold=0)
    scheduler.prefill(MAX_BATCH)

    result = scheduler.decode()

    assert scheduler.worker.draft_worker.drafted == [MAX_BATCH]
    assert result.accept_lens.tolist() == [STRIDE] * MAX_BATCH
    check_outputs(scheduler)


def test_a_batch_of_exactly_n_speculates() -> None:
    scheduler = Scheduler(threshold=3)
    scheduler.prefill(3)

    result = scheduler.decode()

    assert scheduler.worker.draft_worker.drafted == [3]
    assert in_decode(scheduler).forward_mode == ForwardMode.TARGET_VERIFY
    assert result.can_run_cuda_graph
    check_outputs(scheduler)


def test_a_batch_of_n_plus_one_decodes_plainly() -> None:
    scheduler = Scheduler(threshold=3)
    scheduler.prefill(4)

    result = scheduler.decode()

    assert scheduler.worker.draft_worker.drafted == []
    assert in_decode(scheduler).forward_mode == ForwardMode.DECODE
    assert not result.can_run_cuda_graph
    assert [len(request.output) for request in scheduler.requests] == [2] * 4
    check_outputs(scheduler)


def test_the_result_has_the_layout_of_a_rejected_verify() -> None:
    scheduler = Scheduler(threshold=1)
    scheduler.prefill(3)
    before = scheduler.seq_lens

    result = scheduler.decode()

    tokens = result.next_token_ids.reshape(3, STRIDE)
    assert result.next_token_ids.shape == (3 * STRIDE,)
    assert tokens[:, 0].tolist() == [request.output[-1] for request in scheduler.requests]
    assert not tokens[:, 1:].any()
    assert result.accept_lens.tolist() == [1, 1, 1]
    assert getattr(result, ACCEPTED_DRAFTS) == 0
    assert result.next_draft_input.new_seq_lens.tolist() == (before + 1).tolist()
    assert result.next_draft_input.verify_done is not None


def test_types_and_shapes_are_those_of_a_normal_round() -> None:
    plain, normal = Scheduler(threshold=1), Scheduler(threshold=0)
    for scheduler in (plain, normal):
        scheduler.prefill(3)

    results = plain.decode(), normal.decode()

    names = ("topk_p", "topk_index", "hidden_states", BONUS_TOKENS, "new_seq_lens")
    left, right = ({name: getattr(result.next_draft_input, name) for name in names} for result in results)
    assert layout(left) == layout(right)
    left, right = ({name: getattr(result, name) for name in ("next_token_ids", "accept_lens")} for result in results)
    assert layout(left) == layout(right)


def test_the_future_map_stores_the_draft_input() -> None:
    plain, normal = Scheduler(threshold=1), Scheduler(threshold=0)
    for scheduler in (plain, normal):
        scheduler.prefill(3)

    state, reference = plain.decode().state, normal.decode().state

    assert layout(state) == layout(reference)
    assert state["topk_p"].shape == state["topk_index"].shape == (3, 1)
    assert state["hidden_states"].shape == (3, DRAFT_HIDDEN)
    assert state[BONUS_TOKENS].tolist() == [request.output[-1] for request in plain.requests]
    assert state["topk_index"][:, 0].tolist() == [next_token(request.prompt + request.output) for request in plain.requests]


def test_the_token_goes_to_the_slot_of_position_seq_lens() -> None:
    scheduler = Scheduler(threshold=1)
    scheduler.prefill(3)
    before, written = scheduler.seq_lens, set(scheduler.target.slots)

    scheduler.decode()

    table = scheduler.target.req_to_token_pool.req_to_token
    slots = table[[request.row for request in scheduler.requests], before]
    assert in_decode(scheduler).out_cache_loc.tolist() == slots.tolist()
    assert in_decode(scheduler).positions.tolist() == before.tolist()
    assert set(scheduler.target.slots) - written == set(slots.tolist())
    assert [scheduler.target.slots[slot] for slot in slots.tolist()] == [request.output[0] for request in scheduler.requests]


def test_speculation_resumes_when_the_batch_shrinks() -> None:
    scheduler = Scheduler(threshold=2)
    scheduler.prefill(4)
    for _ in range(3):
        scheduler.decode()

    scheduler.keep(2)
    result = scheduler.decode()

    assert scheduler.worker.draft_worker.drafted == [2]
    assert result.accept_lens.tolist() == [STRIDE, STRIDE], "a draft model with complete KV would have been right"
    check_outputs(scheduler)


def test_plain_rounds_may_follow_speculation() -> None:
    scheduler = Scheduler(threshold=2)
    scheduler.prefill(2)
    scheduler.decode()

    scheduler.server_args.speculative_disable_batch_threshold = 1
    lengths = [scheduler.decode().accept_lens.tolist() for _ in range(2)]
    scheduler.server_args.speculative_disable_batch_threshold = 2
    lengths.append(scheduler.decode().accept_lens.tolist())

    assert lengths == [[1, 1], [1, 1], [STRIDE, STRIDE]]
    check_outputs(scheduler)


def test_prefill_of_a_large_batch_is_left_alone() -> None:
    large, always = Scheduler(threshold=1), Scheduler(threshold=0)

    result, reference = large.prefill(4), always.prefill(4)

    assert result.next_token_ids.tolist() == reference.next_token_ids.tolist()
    assert result.accept_lens is None
    assert [batch.forward_mode for batch in large.target.batches + large.draft.batches] == [ForwardMode.EXTEND] * 2


def test_an_idle_rank_follows_the_largest_rank() -> None:
    scheduler = Scheduler(threshold=3, enable_dp_attention=True, dp_size=2)
    sizes = {"global_num_tokens_for_logprob": [0, 0]}

    small = scheduler.decode(global_num_tokens=[0, 3], **sizes)
    drafted = list(scheduler.worker.draft_worker.drafted)
    scheduler.spec_info = None
    large = scheduler.decode(global_num_tokens=[0, 5], **sizes)

    assert drafted == scheduler.worker.draft_worker.drafted == [0]
    for result in (small, large):
        assert result.next_token_ids.shape == result.accept_lens.shape == result.next_draft_input.new_seq_lens.shape == (0,)
    assert in_decode(scheduler).global_num_tokens_cpu == [0, 5]
    assert scheduler.draft.batches[-1].global_num_tokens_cpu == [0, 5 * STRIDE]


def test_a_rank_that_knows_only_itself_speculates() -> None:
    scheduler = Scheduler(threshold=1, enable_dp_attention=True, dp_size=2)
    scheduler.prefill(2)

    scheduler.decode(global_num_tokens=[2], global_num_tokens_for_logprob=[2])

    assert scheduler.worker.draft_worker.drafted == [2]


class OnlyToken:
    """A grammar that allows one token."""

    finished = False

    def __init__(self, token: int) -> None:
        self.token = token

    def is_terminated(self) -> bool:
        """Never."""
        return False

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: str) -> torch.Tensor:
        """A mask that allows all."""
        return torch.zeros(batch_size, vocab_size, device=device)

    def fill_vocab_mask(self, mask: torch.Tensor, row: int) -> None:
        """Mask one request."""
        mask[row] = float("-inf")
        mask[row, self.token] = 0

    @staticmethod
    def move_vocab_mask(mask: torch.Tensor, _device: str) -> torch.Tensor:
        """Already there."""
        return mask

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """In place."""
        logits += vocab_mask


def test_a_grammar_masks_the_plain_token() -> None:
    scheduler = Scheduler(threshold=1)
    scheduler.prefill(3)
    token = next(t for t in range(VOCAB) if t != next_token(scheduler.requests[1].prompt + scheduler.requests[1].output))
    stale = torch.full((3, VOCAB), float("-inf"))

    masked = sampling(3, grammars=[None, OnlyToken(token), None], vocab_mask=stale)
    scheduler.decode(has_grammar=True, sampling_info=masked)

    assert scheduler.requests[1].output[-1] == token
    for request in (scheduler.requests[0], scheduler.requests[2]):
        assert request.output == request.expected()


def test_penalties_count_as_in_verify() -> None:
    for name in PENALTIES:
        plain, normal = Scheduler(threshold=1), Scheduler(threshold=0)
        for scheduler in (plain, normal):
            scheduler.prefill(3)
            penalties = 1 - one_hot([next_token(request.prompt + request.output) for request in scheduler.requests]) * 1e4
            scheduler.decode(sampling_info=sampling(3, **{name: penalties}))

        for request, reference in zip(plain.requests, normal.requests, strict=True):
            assert request.output[1] == reference.output[1]
            assert (request.output == request.expected()) != VERIFY_APPLIES_PENALTIES
        if not VERIFY_APPLIES_PENALTIES:
            check_outputs(plain)


def first_logprobs(result: Any) -> list[Any]:
    """What the scheduler reads for the first token of each request."""
    output = result.logits_output
    rows = output.next_token_logprobs.tolist()
    values = (output.next_token_top_logprobs_val, output.next_token_top_logprobs_idx, output.next_token_token_ids_logprobs_val)
    return [(row[0], *(torch.as_tensor(value[i * len(row)]).tolist() for value in values)) for i, row in enumerate(rows)]


def test_logprobs_are_those_of_verify() -> None:
    plain, normal = Scheduler(threshold=1), Scheduler(threshold=0)
    for scheduler in (plain, normal):
        scheduler.prefill(3)

    wanted = {"top_logprobs_nums": [5, 0, 2], "token_ids_logprobs": [None, [1, 2], [3]]}
    result, reference = (scheduler.decode(return_logprob=True, **wanted) for scheduler in (plain, normal))

    check_outputs(plain)
    assert in_decode(plain).return_logprob == VERIFY_MAKES_LOGPROBS
    if VERIFY_MAKES_LOGPROBS:
        assert first_logprobs(result) == first_logprobs(reference)


def test_of_the_batch_only_the_slots_are_changed() -> None:
    scheduler = Scheduler(threshold=1)
    scheduler.prefill(3)
    batch = scheduler.batch(ForwardMode.DECODE, spec_info=scheduler.spec_info, global_num_tokens=[3])
    batch.sampling_info = sampling(3, **dict.fromkeys(PENALTIES, torch.zeros(3, VOCAB)))
    before, sampling_before = dataclasses.replace(batch), dict(vars(batch.sampling_info))

    decode = scheduler.worker._prepare_for_plain_decode(batch)

    assert [name for name in field_names(batch) if getattr(batch, name) is not getattr(before, name)] == ["out_cache_loc"]
    assert batch.out_cache_loc.shape == (3 * STRIDE,)
    assert all(vars(batch.sampling_info)[name] is value for name, value in sampling_before.items())
    assert VERIFY_APPLIES_PENALTIES or decode.sampling_info is not batch.sampling_info
    assert decode.global_num_tokens is not batch.global_num_tokens


def test_new_seq_lens_is_made_before_verify_done() -> None:
    for threshold in (1, 0):  # a normal round keeps to the same rule
        scheduler = Scheduler(threshold)
        scheduler.prefill(3)
        order.clear()

        with Order():
            state = scheduler.decode().next_draft_input

        made, done = ([thing is wanted for thing in order].index(True) for wanted in (state.new_seq_lens, state.verify_done))
        assert made < done, "the scheduler waits for verify_done, then reads new_seq_lens on another stream"


def test_seq_lens_is_recorded_on_the_forward_stream() -> None:
    scheduler = Scheduler(threshold=1)
    scheduler.prefill(3)
    before = scheduler.seq_lens
    recorded.clear()

    scheduler.decode()

    assert any(tensor is before for tensor in recorded)


def test_a_model_with_tracked_mamba_states_speculates() -> None:
    scheduler = Scheduler(threshold=1)
    scheduler.prefill(3)
    batch = scheduler.batch(ForwardMode.DECODE)
    assert scheduler.worker._is_too_large_to_speculate(batch)

    scheduler.server_args.mamba_scheduler_strategy = "extra_buffer"

    assert scheduler.worker._is_too_large_to_speculate(batch) != VERIFY_STORES_MAMBA_STATES


def test_a_standalone_draft_model_gets_no_hidden_states() -> None:
    scheduler = Scheduler(threshold=1)
    scheduler.prefill(3)
    scheduler.worker.speculative_algorithm = SpeculativeAlgorithm.STANDALONE

    result = scheduler.worker.decode_without_draft(scheduler.batch(ForwardMode.DECODE, spec_info=scheduler.spec_info))

    assert (result.logits_output.hidden_states is None) == STANDALONE_TAKES_NO_HIDDEN_STATES


def test_the_argument_arrives() -> None:
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)

    default = parser.parse_args(["--model-path", "x"])
    given = parser.parse_args(["--model-path", "x", "--speculative-disable-batch-threshold", "8"])

    assert default.speculative_disable_batch_threshold == 0
    assert given.speculative_disable_batch_threshold == 8


def test_a_negative_threshold_is_an_error() -> None:
    eagle = ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "draft")

    for algorithm in ((), eagle):
        message = raises_value_error("--speculative-disable-batch-threshold", "-1", *algorithm)

        assert "--speculative-disable-batch-threshold" in message
        assert "-1" in message
    assert not raises_value_error("--speculative-disable-batch-threshold", "8")


def main() -> int:
    """Run all tests: one line each."""
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            test()
        except Exception:  # noqa: BLE001 - a runner reports whatever a test raises
            failed += 1
            print(f"FAIL {name}")
            traceback.print_exc(file=sys.stdout)
        else:
            print(f"ok   {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
